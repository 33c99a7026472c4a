package serve

import "fmt"

// Kind says what is wrong with a viewer endpoint, or with what it was asked.
type Kind int

const (
	Unreachable    Kind = iota // nobody listens, or the way is barred
	NoViewer                   // somebody listens, and it is no viewer endpoint
	TokenMissing               // it wants a token, and there is none
	TokenWrong                 // it wants another one
	TooMany                    // there are as many viewers as may be
	OtherRecording             // the proxy was started anew, and writes another recording
	Refused                    // it says why
	Lost                       // the connection was lost, and did not come back
)

// Error is a failure of a Client. It never holds a token.
type Error struct {
	Kind    Kind
	Address string
	Err     error
}

func (e *Error) Unwrap() error { return e.Err }

func (e *Error) Error() string {
	switch e.Kind {
	case Unreachable:
		return fmt.Sprintf("cannot reach a proxy at %s: %v", e.Address, e.Err)
	case NoViewer:
		return fmt.Sprintf("what listens at %s is no viewer endpoint: %v", e.Address, e.Err)
	case TokenMissing:
		return fmt.Sprintf("the proxy at %s wants a token", e.Address)
	case TokenWrong:
		return fmt.Sprintf("the proxy at %s wants another token", e.Address)
	case OtherRecording:
		return fmt.Sprintf("the proxy at %s was started anew, and writes another recording", e.Address)
	case Lost:
		return fmt.Sprintf("the proxy at %s is gone: %v", e.Address, e.Err)
	case TooMany, Refused:
	}
	return fmt.Sprintf("the proxy at %s refuses: %v", e.Address, e.Err)
}
