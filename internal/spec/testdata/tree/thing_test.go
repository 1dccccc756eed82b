package thing

// spec: X001
const inString = "// spec: X999"

/*
// spec: X998
*/

// The specification is quoted here; spec: X997 inside prose names nothing.
