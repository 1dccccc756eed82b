package patch

// Targets are the paths that a patch names, as they are written and in its order, the new ones of moved files included; nil
// for what is no patch. Lines of hunks are never among them, whatever they look like.
func Targets(text string) (paths []string) {
	if len(text) > maxPatch {
		return nil
	}
	sections, wrong := parse(text)
	if wrong != nil {
		return nil
	}
	for _, s := range sections {
		paths = append(paths, s.path)
		if s.to != "" {
			paths = append(paths, s.to)
		}
	}
	return paths
}
