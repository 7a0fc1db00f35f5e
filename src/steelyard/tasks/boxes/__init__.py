"""Task `boxes`: objects found in images, each a box with a class and a score.

Conventions
    The unit is the image. Boxes are [x, y, width, height] in pixels; IoU takes them as real rectangles.
    Matching is COCO's: within a class, highest score first, the best still unmatched truth with IoU >= t.

Metrics
    `map`, `map50`, `map75`, by area, `ar@1`, `ar@10`, `ar@100` are the twelve numbers of COCO, equal to pycocotools to
    the last bit; `ap` has the four kinds; `precision`, `recall`, `f1` and the false positive rates are for one working
    point.
"""
