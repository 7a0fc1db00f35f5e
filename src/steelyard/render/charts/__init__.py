"""Pictures: from a figure's typed columns to SVG, and from SVG to PNG and PDF."""
