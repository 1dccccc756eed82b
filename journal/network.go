package journal

// networks are the file systems, by the magic number of statfs(2), whose locks and syncs depend on another machine, or on
// a program: a journal on one may be owned twice, or lose what was acknowledged. The names are those of mount(8).
var networks = map[uint32]string{
	0x6969:     "nfs",
	0xff534d42: "cifs",
	0xfe534d42: "smb2",
	0x517b:     "smb",
	0x65735546: "fuse", // sshfs, s3fs and their like; it also carries some local ones
	0x01021997: "9p",
	0x5346414f: "afs",
	0x6b414653: "kafs",
	0x73757245: "coda",
	0x00c36400: "ceph",
	0x0bd00bd0: "lustre",
	0x47504653: "gpfs",
	0x7461636f: "ocfs2",
	0x01161970: "gfs2",
	0x564c:     "ncp",
	0x786f4256: "vboxsf",
	0xbacbacbc: "vmhgfs",
	0x19830326: "beegfs",
	0xaad7aaea: "panfs",
}

// networkName names a file system that is not one of this machine's disks; "" for all others.
func networkName(magic uint32) string { return networks[magic] }
