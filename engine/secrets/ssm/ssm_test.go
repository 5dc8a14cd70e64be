package ssm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/google/go-cmp/cmp"

	"github.com/atlantide-org/atlantide-operator/engine/model"
	"github.com/atlantide-org/atlantide-operator/engine/secrets"
)

// store speaks the protocol of the Parameter Store.
type store struct {
	mu         sync.Mutex
	parameters map[string]parameter
	answer     func(w http.ResponseWriter) // nil = what parameters say
	asked      []string
}

type parameter struct{ Type, Value string }

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var in struct {
		Name           string
		WithDecryption bool
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || r.Header.Get("X-Amz-Target") != "AmazonSSM.GetParameter" || !in.WithDecryption {
		fail(http.StatusBadRequest, "ValidationException", fmt.Sprintf("%v, %+v", r.Header, in))(w)
		return
	}
	s.asked = append(s.asked, in.Name)
	if s.answer != nil {
		s.answer(w)
		return
	}
	p, ok := s.parameters[in.Name]
	if !ok {
		fail(http.StatusBadRequest, "ParameterNotFound", "")(w)
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.1")
	_ = json.NewEncoder(w).Encode(map[string]any{"Parameter": map[string]any{"Name": in.Name, "Type": p.Type, "Value": p.Value, "Version": 1}})
}

// Do serves a request without any network.
func (s *store) Do(r *http.Request) (*http.Response, error) {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	answer := w.Result()
	answer.Request = r
	return answer, nil
}

func fail(status int, code, message string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.1")
		w.WriteHeader(status)
		_ = json.NewEncoder(w).Encode(map[string]any{"__type": code, "message": message})
	}
}

// alone keeps what AWS's own variables and files of this machine say away, and gives
// credentials.
func alone(t *testing.T) {
	t.Helper()
	none := filepath.Join(t.TempDir(), "none")
	for name, value := range map[string]string{
		"AWS_CONFIG_FILE": none, "AWS_SHARED_CREDENTIALS_FILE": none, "AWS_PROFILE": "", "AWS_REGION": "", "AWS_DEFAULT_REGION": "",
		"AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "sentinel-key", "AWS_SESSION_TOKEN": "", "AWS_EC2_METADATA_DISABLED": "true",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI": "", "AWS_CONTAINER_CREDENTIALS_FULL_URI": "", "AWS_WEB_IDENTITY_TOKEN_FILE": "",
		"AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_SSM": "", "AWS_CA_BUNDLE": "", "HTTP_PROXY": "", "HTTPS_PROXY": "",
	} {
		t.Setenv(name, value)
	}
}

// over is the provider of a project whose store is s, behind a real HTTP server.
func over(t *testing.T, s *store) *Provider {
	t.Helper()
	alone(t)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	p, err := FromOptions(Options{Prefix: "/app/", Region: "eu-west-1", Endpoint: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func sessionOf(t *testing.T, p secrets.Provider) *secrets.Session {
	t.Helper()
	registry, err := secrets.NewRegistry("", p)
	if err != nil {
		t.Fatal(err)
	}
	return secrets.NewSession(secrets.Options{Registry: registry})
}

func wantError(t *testing.T, err error, class model.Class, texts ...string) {
	t.Helper()
	if !model.IsKind(err, model.SecretsError) || model.ClassOf(err) != class {
		t.Fatalf("error %v of class %s; want a SecretsError of class %s", err, model.ClassOf(err), class)
	}
	for _, text := range texts {
		if !strings.Contains(err.Error(), text) {
			t.Errorf("error %q; want %q in it", err, text)
		}
	}
	if text := fmt.Sprintf("%v %+v %#v", err, err, err); strings.Contains(text, "sentinel") {
		t.Errorf("error %q holds a secret", text)
	}
}

func TestResolve(t *testing.T) {
	p := over(t, &store{parameters: map[string]parameter{
		"/app/db": {"SecureString", "hunter2"}, "/app/plain": {"String", "grün ✓\n"}, "/app/list": {"StringList", "sentinel,b"}, "/app/empty": {"String", ""},
		"db": {"SecureString", "without its prefix"},
	}})
	for _, tc := range []struct {
		why, name, want string
		texts           []string
	}{
		{why: "T-217a decrypted", name: "db", want: "hunter2"},
		{why: "T-217a a plain type", name: "plain", want: "grün ✓\n"},
		{why: "empty is a value", name: "empty"},
		{why: "T-217a a list is refused", name: "list", texts: []string{"'/app/list'", "StringList", "SecureString"}},
		{why: "T-217c not there: path, place and fix", name: "gone", texts: []string{"'/app/gone'", "eu-west-1", "aws ssm put-parameter --type SecureString --name '/app/gone'"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			got, err := sessionOf(t, p).Resolve(t.Context(), model.SecretRef{Name: tc.name})
			if tc.texts != nil {
				wantError(t, err, model.ClassUser, tc.texts...)
			} else if err != nil {
				t.Fatal(err)
			}
			if got != tc.want {
				t.Errorf("%q; want %q", got, tc.want)
			}
		})
	}
}

// T-217b: a run asks once and sees one value; the next run sees the rotation.
func TestMemoisedPerRun(t *testing.T) {
	s := &store{parameters: map[string]parameter{"/app/db": {"SecureString", "1"}}}
	p := over(t, s)
	run := sessionOf(t, p)
	read := func(run *secrets.Session, want string) {
		t.Helper()
		if got, err := run.Resolve(t.Context(), model.SecretRef{Name: "db"}); err != nil || got != want {
			t.Errorf("%q, %v; want %q", got, err, want)
		}
	}
	read(run, "1")
	s.parameters["/app/db"] = parameter{"SecureString", "2"}
	read(run, "1")
	if diff := cmp.Diff([]string{"/app/db"}, s.asked); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	read(sessionOf(t, p), "2")
}

// standard is the mode of retries that knows when its wait is over by the clock of a bubble:
// the adaptive one waits for fractions of a nanosecond there, for ever.
var standard = config.WithRetryMode(aws.RetryModeStandard)

// SC-5.
func TestBounds(t *testing.T) {
	var load config.LoadOptions
	for _, set := range (Options{Region: "r", Profile: "p"}).load() {
		if err := set(&load); err != nil {
			t.Fatal(err)
		}
	}
	client := load.HTTPClient.(*awshttp.BuildableClient)
	read, _ := client.GetReadTimeout()
	got := []any{load.RetryMode, load.RetryMaxAttempts, client.GetDialer().Timeout, read, load.Region, load.SharedConfigProfile}
	if diff := cmp.Diff([]any{aws.RetryModeAdaptive, 3, 10 * time.Second, 120 * time.Second, "r", "p"}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// Everything that can go wrong, with the SDK's own retries and waits, in the time of a
// bubble. SC-5: at most three attempts. T-217e: the check fails by it.
func TestFailures(t *testing.T) {
	const tries = 3
	for _, tc := range []struct {
		why    string
		answer func(http.ResponseWriter)
		class  model.Class
		asked  int
		texts  []string
	}{
		{"denied: the permissions that it takes", fail(400, "AccessDeniedException", "User: u is not authorized"), model.ClassUser, 1,
			[]string{"ssm:GetParameter", "kms:Decrypt", "not authorized", "'/app/db'"}},
		{"throttled", fail(400, "ThrottlingException", "Rate exceeded"), model.ClassTransient, tries, []string{"Rate exceeded", "try again", "eu-west-1"}},
		{"throttled by status alone", fail(429, "Slow", ""), model.ClassTransient, tries, []string{"Slow"}},
		{"an error of its own", fail(500, "InternalServerError", ""), model.ClassTransient, tries, []string{"InternalServerError"}},
		{"a gateway that answers for it", fail(503, "", ""), model.ClassTransient, tries, []string{"does not serve now"}},
		{"credentials that ended", fail(400, "ExpiredTokenException", "The security token is expired"), model.ClassUser, 1, []string{"refuses the credentials", "renew"}},
		{"credentials of nobody", fail(400, "UnrecognizedClientException", ""), model.ClassUser, 1, []string{"refuses the credentials"}},
		{"a key that is switched off", fail(400, "InvalidKeyId", "key is disabled"), model.ClassUser, 1, []string{"cannot be decrypted", "key is disabled"}},
		{"a version that is not there", fail(400, "ParameterVersionNotFound", ""), model.ClassUser, 1, []string{"no such version"}},
		{"a name that cannot be one", fail(400, "ValidationException", "Parameter name: can't be prefixed with \"aws\""), model.ClassUser, 1, []string{"refuses the request", "prefixed"}},
		{"a message without end", fail(400, "ValidationException", strings.Repeat("x", 1<<16)), model.ClassUser, 1, []string{"…"}},
		{"no parameter in the answer", func(w http.ResponseWriter) { _, _ = w.Write([]byte(`{}`)) }, model.ClassUnknown, 1, []string{"cannot be read"}},
		{"a parameter without a value", func(w http.ResponseWriter) { _, _ = w.Write([]byte(`{"Parameter":{"Type":"String"}}`)) }, model.ClassUnknown, 1, []string{"cannot be read"}},
		{"an answer that breaks off in a value", func(w http.ResponseWriter) { _, _ = w.Write([]byte(`{"Parameter":{"Value":"sentinel`)) }, model.ClassUnknown, 1, []string{"cannot be read"}},
		{"an answer that is longer than any", func(w http.ResponseWriter) {
			_, _ = w.Write([]byte(`{"Parameter":{"Type":"String","Value":"sentinel`))
			_, _ = w.Write([]byte(strings.Repeat("x", maxAnswer) + `"}}`))
		}, model.ClassUnknown, 1, []string{"cannot be read"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			alone(t)
			synctest.Test(t, func(t *testing.T) {
				s := &store{answer: tc.answer}
				p := New("/app/", Options{Region: "eu-west-1"}.connect(s, standard))
				_, err := sessionOf(t, p).Resolve(t.Context(), model.SecretRef{Name: "db"})
				wantError(t, err, tc.class, tc.texts...)
				if len(s.asked) != tc.asked {
					t.Errorf("asked %d times; want %d", len(s.asked), tc.asked)
				}
				if check := p.Check(t.Context()); check.Status != secrets.StatusFail || check.Name != "secrets: ssm" || check.Detail == "" {
					t.Errorf("check %+v", check)
				}
			})
		})
	}
}

// T-217e: to be told that there is no such parameter is to be served, and so is to be given
// one.
func TestCheck(t *testing.T) {
	s := &store{parameters: map[string]parameter{}}
	p := over(t, s)
	want := secrets.Check{Name: "secrets: ssm", Status: secrets.StatusOK, Detail: "the parameter store of eu-west-1 answers; names begin with '/app/' there"}
	for range 2 {
		if diff := cmp.Diff(want, p.Check(t.Context())); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		s.parameters["/app/"+probe] = parameter{"String", "there"}
	}
	if s.asked[0] != "/app/"+probe || len(s.asked) != 2 {
		t.Errorf("asked for %q", s.asked)
	}
}

// What is wrong before anything is asked, said once for a whole run.
func TestConnectFailures(t *testing.T) {
	for _, tc := range []struct {
		why     string
		options Options
		unset   string
		texts   []string
	}{
		{"no region", Options{}, "", []string{"no region", "AWS_REGION", "[secrets]"}},
		{"no credentials", Options{Region: "eu-west-1"}, "AWS_ACCESS_KEY_ID", []string{"no AWS credentials", "none are set", "profile"}},
		{"a profile that is not there", Options{Region: "eu-west-1", Profile: "nope"}, "", []string{"nope", "[secrets]"}},
	} {
		t.Run(tc.why, func(t *testing.T) {
			alone(t)
			if tc.unset != "" {
				t.Setenv(tc.unset, "")
			}
			connects := 0
			p := New("", func(ctx context.Context) (API, string, error) {
				connects++
				return tc.options.connect(&store{})(ctx)
			})
			run := sessionOf(t, p)
			for _, name := range []string{"a", "b"} {
				_, err := run.Resolve(t.Context(), model.SecretRef{Name: name})
				wantError(t, err, model.ClassUser, tc.texts...)
			}
			if connects != 1 {
				t.Errorf("connected %d times in one run", connects)
			}
			if check := p.Check(t.Context()); check.Status != secrets.StatusFail || !strings.Contains(check.Detail, tc.texts[0]) {
				t.Errorf("check %+v", check)
			}
			if connects != 2 {
				t.Errorf("the check did not look for itself")
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	alone(t)
	gone := httptest.NewServer(nil)
	gone.Close()
	synctest.Test(t, func(t *testing.T) {
		connect := Options{Region: "eu-west-1", Endpoint: gone.URL}.connect(nil, standard)
		_, err := sessionOf(t, New("", connect)).Resolve(t.Context(), model.SecretRef{Name: "db"})
		wantError(t, err, model.ClassTransient, "'db'", "refused", "try again")
	})
}

// hanging is a store that never answers.
type hanging struct{ asked chan struct{} }

func (h hanging) Do(r *http.Request) (*http.Response, error) {
	h.asked <- struct{}{}
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// Who gives up is not kept, and is no verdict on the store.
func TestInterrupted(t *testing.T) {
	alone(t)
	stop := errors.New("stop")
	ctx, cancel := context.WithCancelCause(t.Context())
	h := hanging{make(chan struct{}, 1)}
	p := New("", Options{Region: "eu-west-1"}.connect(h))
	go func() {
		<-h.asked
		cancel(stop)
	}()
	for _, ctx := range []context.Context{ctx, ctx} { // in the call, and before it
		_, err := p.Resolve(ctx, "db")
		wantError(t, err, model.ClassTransient, "interrupted")
		if !errors.Is(err, stop) {
			t.Errorf("the reason is lost: %v", err)
		}
	}
}

// What was interrupted while it connected is done again by who comes next.
func TestInterruptedConnect(t *testing.T) {
	alone(t)
	s := &store{parameters: map[string]parameter{"db": {"String", "1"}}}
	ctx, cancel := context.WithCancel(t.Context())
	first := true
	v := New("", func(c context.Context) (API, string, error) {
		if first {
			first = false
			cancel()
			return nil, "", errors.New("cancelled")
		}
		return Options{Region: "eu-west-1"}.connect(s)(c)
	}).ForRun()
	_, err := v.Resolve(ctx, "db")
	wantError(t, err, model.ClassTransient, "interrupted")
	if got, err := v.Resolve(t.Context(), "db"); err != nil || got.Reveal() != "1" {
		t.Errorf("%v, %v", got, err)
	}
}

func TestFromOptionsRefuses(t *testing.T) {
	for _, tc := range []struct {
		why     string
		options Options
		text    string
	}{
		{"a region that would be part of another host's name", Options{Region: "x.example.com/"}, "'region'"},
		{"a path in place of a region", Options{Region: "../x"}, "'region'"},
		{"an endpoint that is no URL", Options{Endpoint: "localhost:4566"}, "'endpoint'"},
		{"an endpoint of a file", Options{Endpoint: "file:///etc/passwd"}, "'endpoint'"},
		{"an endpoint with a password, which messages would show", Options{Endpoint: "https://u:sentinel@host"}, "'endpoint'"},
		{"an endpoint with a query", Options{Endpoint: "https://host?x=1"}, "'endpoint'"},
		{"a prefix longer than any name", Options{Prefix: strings.Repeat("p", maxPrefix+1)}, "'prefix'"},
	} {
		_, err := FromOptions(tc.options)
		t.Run(tc.why, func(t *testing.T) { wantError(t, err, model.ClassUser, tc.text, "[secrets]") })
	}
	for _, o := range []Options{{}, {Prefix: "/a/", Region: "us-gov-west-1", Profile: "p", Endpoint: "http://localhost:4566"}} {
		if p, err := FromOptions(o); err != nil || p.Name() != Name {
			t.Errorf("%+v: %v", o, err)
		}
	}
}
