// Package files holds the tools read and write.
//
// A path is resolved once when a call is prepared, and what is permitted is what it resolved to. When the call runs,
// the path must still lead there, and the file is reached folder by folder through open directories that refuse
// symbolic links ([OpenFolder]): an ancestor that was exchanged in between is found out, never followed.
//
// Nothing here waits for anyone: a file is opened without blocking and looked at before it is read, so a fifo, a
// socket or a device is refused at once.
//
// What is exported beside [Register] is for other families of tools that reach files in the same way.
package files
