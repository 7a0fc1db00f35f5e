"""Files of annotations, one module a format: each reads into a `Dataset` and renders one; `convert` ties them."""
