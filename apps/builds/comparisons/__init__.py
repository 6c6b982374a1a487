"""Two builds side by side."""
