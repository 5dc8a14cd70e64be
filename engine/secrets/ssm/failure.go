package ssm

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/ssm/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/model/sourcetree"
)

// errUnreadable is an answer that says neither a value nor what is wrong.
var errUnreadable = errors.New("its answer cannot be read")

// Codes of AWS for a caller that may not, and for credentials that do not count.
var (
	denied  = []string{"AccessDeniedException", "AccessDenied", "UnauthorizedOperation", "NotAuthorized"}
	refused = []string{
		"ExpiredTokenException", "ExpiredToken", "UnrecognizedClientException", "InvalidClientTokenId", "InvalidSignatureException",
		"SignatureDoesNotMatch", "IncompleteSignature", "MissingAuthenticationToken", "MissingAuthenticationTokenException",
	}
)

// failure is why there is no value, with the next step. The error of the SDK is not in its
// chain: it keeps parts of answers, which may be values.
func (v *view) failure(ctx context.Context, path string, err error) error {
	shown := sourcetree.Shown(path)
	typed, ours := errors.AsType[*model.Error](err)
	switch code := codeOf(err); {
	case ctx.Err() != nil:
		return model.Errorf(model.SecretsError, model.ClassTransient, "reading the parameter '%s' was interrupted: %w", shown, context.Cause(ctx))
	case ours:
		return typed
	case isNotFound(err):
		return userErrorf("the parameter '%s' is not in the parameter store%s; create it: aws ssm put-parameter --type SecureString --name '%s' --value VALUE", shown, v.place(), shown)
	case code == (&types.ParameterVersionNotFound{}).ErrorCode():
		return userErrorf("the parameter '%s' has no such version or label in the parameter store%s; name one that it has, or none", shown, v.place())
	case slices.Contains(denied, code):
		return userErrorf("the parameter '%s' may not be read (%s); allow ssm:GetParameter on it and, where it is encrypted with a key of your own, kms:Decrypt on that key", shown, reason(err))
	case slices.Contains(refused, code):
		return userErrorf("the parameter '%s' was not read: AWS refuses the credentials (%s); renew them, or use others", shown, reason(err))
	case code == (&types.InvalidKeyId{}).ErrorCode():
		return userErrorf("the parameter '%s' cannot be decrypted (%s); enable the key that it was encrypted with, or write it anew", shown, reason(err))
	case passes(err):
		return model.Errorf(model.SecretsError, model.ClassTransient, "the parameter '%s' was not read: the parameter store%s does not serve now (%s); try again", shown, v.place(), reason(err))
	case statusOf(err) >= http.StatusBadRequest:
		return userErrorf("the parameter '%s' was not read: the parameter store%s refuses the request (%s); mend the name or the settings", shown, v.place(), reason(err))
	}
	return model.Errorf(model.SecretsError, model.ClassUnknown, "the parameter '%s' was not read from the parameter store%s: %s; try again", shown, v.place(), reason(err))
}

func userErrorf(format string, args ...any) *model.Error {
	return model.Errorf(model.SecretsError, model.ClassUser, format, args...)
}

// isNotFound goes by the code alone: what a message says is for people.
func isNotFound(err error) bool { return codeOf(err) == (&types.ParameterNotFound{}).ErrorCode() }

func codeOf(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}

// statusOf is that of the last HTTP answer; 0 without one.
func statusOf(err error) int {
	if answer, ok := errors.AsType[*smithyhttp.ResponseError](err); ok {
		return answer.HTTPStatusCode()
	}
	return 0
}

// passes reports whether the same call may go well a little later.
func passes(err error) bool {
	_, throttled := retry.DefaultThrottleErrorCodes[codeOf(err)]
	return throttled || codeOf(err) == (&types.InternalServerError{}).ErrorCode() ||
		statusOf(err) == http.StatusTooManyRequests || statusOf(err) >= http.StatusInternalServerError || unreached(err)
}

// unreached reports whether no answer came.
func unreached(err error) bool {
	_, failed := errors.AsType[net.Error](err) // every *url.Error is one
	return failed
}

// reason is the heart of an error of the SDK in one line of bounded length: AWS's code and
// message, or what kept an answer from coming. Nothing else of an answer is shown.
func reason(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		text := api.ErrorCode()
		if message := api.ErrorMessage(); message != "" {
			text += ": " + message
		}
		return sourcetree.Shown(text)
	}
	if _, ok := errors.AsType[*smithy.DeserializationError](err); ok {
		return errUnreadable.Error()
	}
	if name, ok := errors.AsType[*net.DNSError](err); ok {
		return sourcetree.Shown("the address of " + name.Name + " is not known: " + name.Err)
	}
	if call, ok := errors.AsType[*url.Error](err); ok {
		if call.Timeout() {
			return "no answer in time"
		}
		err = call.Err
	}
	if dial, ok := errors.AsType[*net.OpError](err); ok {
		err = dial.Err
	}
	return sourcetree.Shown(err.Error())
}
