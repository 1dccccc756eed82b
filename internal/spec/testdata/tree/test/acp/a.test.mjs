// spec: X001
