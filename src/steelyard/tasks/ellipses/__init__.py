"""Task `ellipses`: ellipses of each image, found and true."""
