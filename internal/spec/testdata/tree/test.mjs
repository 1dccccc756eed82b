// spec: X995
