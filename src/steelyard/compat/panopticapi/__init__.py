"""`panopticapi`: panoptic quality of COCO's panoptic format. Its converters are left out."""
