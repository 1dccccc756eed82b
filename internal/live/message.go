package live

import (
	"encoding/hex"
	"fmt"
	"strconv"
	"strings"
	"time"

	"zuno/journal"
)

// Each message is one packet of a SOCK_SEQPACKET socket: "zuno 1", a word, and what belongs to it. The one who asks
// sends a single request:
//
//	zuno 1 head                  → zuno 1 head 17 HASH
//	zuno 1 backup                → zuno 1 wait, any number of times, then zuno 1 head 17 HASH with a descriptor
//	zuno 1 follow                → zuno 1 head 17 HASH, and again for each new head
//
// or is told "zuno 1 busy" or "zuno 1 error REASON". Another number than 1 is another protocol.
const (
	version    = "zuno 1 "
	maxMessage = 512 // bytes
)

const (
	wordHead   = "head"
	wordBackup = "backup"
	wordFollow = "follow"
	wordWait   = "wait"
	wordBusy   = "busy"
	wordError  = "error"
)

const (
	// answerWait is how long either side waits for the other with each message.
	answerWait = time.Second
	// waitEvery is how often one who waits for a snapshot is told that it is being made.
	waitEvery = answerWait / 4
	// maxWaits is how often one is told so before one does without the owner: for a minute.
	maxWaits = 240
	// maxRequests bounds the requests that are being answered at one time, and so the files that are being made.
	maxRequests = 8
	// maxFollowers bounds those who are told each new head.
	maxFollowers = 16
)

func headMessage(h journal.Head) string {
	return wordHead + " " + strconv.FormatUint(h.Number, 10) + " " + h.Hash.String()
}

// parse takes a message apart.
func parse(m string) (word, rest string, err error) {
	body, ok := strings.CutPrefix(m, version)
	if !ok {
		return "", "", fmt.Errorf("message %.40q is not of this protocol", m)
	}
	word, rest, _ = strings.Cut(body, " ")
	return word, rest, nil
}

func parseHead(s string) (h journal.Head, err error) {
	number, hash, _ := strings.Cut(s, " ")
	n, err := strconv.ParseUint(number, 10, 64)
	if err != nil {
		return h, fmt.Errorf("head %.100q has no number", s)
	}
	b, err := hex.DecodeString(hash)
	if err != nil || len(b) != len(h.Hash) {
		return h, fmt.Errorf("head %.100q has no hash", s)
	}
	return journal.Head{Number: n, Hash: journal.Hash(b)}, nil
}
