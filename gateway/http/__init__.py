"""HTTP: connections, headers, bodies, deadlines and rejections."""
