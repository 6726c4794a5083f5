"""The steps of the lab's recipe: one file a layer, each with its pins and a `build(root)`."""
