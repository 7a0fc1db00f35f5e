"""Pictures: from a figure's typed columns to an Altair chart, and from a chart to SVG, PNG and PDF."""
