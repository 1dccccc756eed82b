// Code generated from the published ACP v1 schema by internal/gen; DO NOT EDIT.

package schema

import "encoding/json"

const (
	// SHA256 is the hash of the schema these types were generated from.
	SHA256 = "0d0b1ca83c4872e5473f68926a894c7a8203b59b118e2a79bfe43dd76fbcbc1a"
	// SHA256Prefix names it in print.
	SHA256Prefix = "0d0b1ca8"
)

// Method names.
const (
	MethodCancelRequest            = "$/cancel_request"
	MethodAuthenticate             = "authenticate"
	MethodElicitationComplete      = "elicitation/complete"
	MethodElicitationCreate        = "elicitation/create"
	MethodFsReadTextFile           = "fs/read_text_file"
	MethodFsWriteTextFile          = "fs/write_text_file"
	MethodInitialize               = "initialize"
	MethodLogout                   = "logout"
	MethodSessionCancel            = "session/cancel"
	MethodSessionClose             = "session/close"
	MethodSessionDelete            = "session/delete"
	MethodSessionList              = "session/list"
	MethodSessionLoad              = "session/load"
	MethodSessionNew               = "session/new"
	MethodSessionPrompt            = "session/prompt"
	MethodSessionRequestPermission = "session/request_permission"
	MethodSessionResume            = "session/resume"
	MethodSessionSetConfigOption   = "session/set_config_option"
	MethodSessionSetMode           = "session/set_mode"
	MethodSessionUpdate            = "session/update"
	MethodTerminalCreate           = "terminal/create"
	MethodTerminalKill             = "terminal/kill"
	MethodTerminalOutput           = "terminal/output"
	MethodTerminalRelease          = "terminal/release"
	MethodTerminalWaitForExit      = "terminal/wait_for_exit"
)

// AgentAuthCapabilities: Authentication-related capabilities supported by the agent.
type AgentAuthCapabilities struct {
	// Whether the agent supports the logout method.
	Logout *LogoutCapabilities `json:"logout,omitzero"`
	Meta   json.RawMessage     `json:"_meta,omitzero"`
}

// AgentCapabilities: Capabilities supported by the agent.
type AgentCapabilities struct {
	// Whether the agent supports `session/load`.
	LoadSession bool `json:"loadSession,omitzero"`
	// Prompt capabilities supported by the agent.
	PromptCapabilities *PromptCapabilities `json:"promptCapabilities,omitzero"`
	// MCP capabilities supported by the agent.
	McpCapabilities *McpCapabilities `json:"mcpCapabilities,omitzero"`
	// Session lifecycle and prompt capabilities advertised by the agent.
	SessionCapabilities *SessionCapabilities `json:"sessionCapabilities,omitzero"`
	// Authentication-related capabilities supported by the agent.
	Auth *AgentAuthCapabilities `json:"auth,omitzero"`
	Meta json.RawMessage        `json:"_meta,omitzero"`
}

// Annotations: Optional annotations for the client. The client can use annotations to
// inform how objects are used or displayed
type Annotations struct {
	// Intended recipients for this content, such as the user or assistant.
	Audience []Role `json:"audience,omitzero"`
	// Timestamp indicating when the underlying resource was last modified.
	LastModified string `json:"lastModified,omitzero"`
	// Relative importance of this content when clients choose what to surface.
	Priority *float64        `json:"priority,omitzero"`
	Meta     json.RawMessage `json:"_meta,omitzero"`
}

// AudioContent: Audio provided to or from an LLM.
type AudioContent struct {
	// Optional annotations that help clients decide how to display or route this content.
	Annotations *Annotations `json:"annotations,omitzero"`
	// Base64-encoded media payload.
	Data string `json:"data"`
	// MIME type describing the encoded media payload.
	MimeType string          `json:"mimeType"`
	Meta     json.RawMessage `json:"_meta,omitzero"`
}

// AuthCapabilities: Authentication capabilities supported by the client.
type AuthCapabilities struct {
	// Whether the client supports `terminal` authentication methods.
	Terminal bool            `json:"terminal,omitzero"`
	Meta     json.RawMessage `json:"_meta,omitzero"`
}

// AuthMethod: Describes an available authentication method.
//
// One of the pointers is set, or Raw for a variant that is unknown here.
type AuthMethod struct {
	Kind               string // the member "type" of the JSON
	AuthMethodTerminal *AuthMethodTerminal
	AuthMethodAgent    *AuthMethodAgent
	Raw                json.RawMessage
}

// Kinds of AuthMethod.
const (
	AuthMethodKindTerminal = "terminal"
)

func (u AuthMethod) variant() (kind string, v any) {
	switch {
	case u.AuthMethodTerminal != nil:
		return "terminal", u.AuthMethodTerminal
	case u.AuthMethodAgent != nil:
		return "", u.AuthMethodAgent
	}
	return u.Kind, nil
}

// MarshalJSON implements json.Marshaler.
func (u AuthMethod) MarshalJSON() ([]byte, error) {
	kind, v := u.variant()
	return marshalUnion("type", kind, v, u.Raw)
}

// UnmarshalJSON implements json.Unmarshaler.
func (u *AuthMethod) UnmarshalJSON(b []byte) error {
	kind, err := kindOf(b, "type")
	if err != nil {
		return err
	}
	*u = AuthMethod{Kind: kind}
	switch kind {
	case "terminal":
		u.AuthMethodTerminal = new(AuthMethodTerminal)
		return json.Unmarshal(b, u.AuthMethodTerminal)
	case "", "agent":
		u.Kind, u.AuthMethodAgent = "", new(AuthMethodAgent)
		return json.Unmarshal(b, u.AuthMethodAgent)
	}
	u.Raw = append(u.Raw, b...)
	return nil
}

// AuthMethodAgent: Agent handles authentication itself through `authenticate`.
type AuthMethodAgent struct {
	// Unique identifier for this authentication method.
	ID AuthMethodID `json:"id"`
	// Human-readable name of the authentication method.
	Name string `json:"name"`
	// Optional human-readable description of this authentication method.
	Description string          `json:"description,omitzero"`
	Meta        json.RawMessage `json:"_meta,omitzero"`
}

// AuthMethodID: Typed identifier used for auth method values on the wire.
type AuthMethodID = string

// AuthMethodTerminal: Terminal-based authentication method.
type AuthMethodTerminal struct {
	// Unique identifier for this authentication method.
	ID AuthMethodID `json:"id"`
	// Human-readable name of the authentication method.
	Name string `json:"name"`
	// Optional human-readable description of this authentication method.
	Description string `json:"description,omitzero"`
	// Additional arguments to append to the configured agent invocation for terminal auth.
	Args []string `json:"args,omitzero"`
	// Additional environment variables to set on the configured agent invocation for terminal
	// auth. These values override same-named variables in the base launch configuration.
	Env  map[string]string `json:"env,omitzero"`
	Meta json.RawMessage   `json:"_meta,omitzero"`
}

// AuthenticateRequest: Request parameters for the authenticate method.
type AuthenticateRequest struct {
	// The ID of the authentication method to use. Must be one of the methods advertised in the
	// initialize response.
	MethodID AuthMethodID    `json:"methodId"`
	Meta     json.RawMessage `json:"_meta,omitzero"`
}

// AuthenticateResponse: Response to the `authenticate` method.
type AuthenticateResponse struct {
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// AvailableCommand: Information about a command.
type AvailableCommand struct {
	// Command name (e.g., `create_plan`, `research_codebase`).
	Name string `json:"name"`
	// Human-readable description of what the command does.
	Description string `json:"description"`
	// Input for the command if required
	Input *AvailableCommandInput `json:"input,omitzero"`
	Meta  json.RawMessage        `json:"_meta,omitzero"`
}

// AvailableCommandInput: The input specification for a command.
type AvailableCommandInput struct {
	// A hint to display when the input hasn't been provided yet
	Hint string          `json:"hint"`
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// AvailableCommandsUpdate: Available commands are ready or have changed
type AvailableCommandsUpdate struct {
	// Commands the agent can execute
	AvailableCommands []AvailableCommand `json:"availableCommands"`
	Meta              json.RawMessage    `json:"_meta,omitzero"`
}

// MarshalJSON writes required lists as [], never null.
func (v AvailableCommandsUpdate) MarshalJSON() ([]byte, error) {
	type plain AvailableCommandsUpdate
	v.AvailableCommands = list(v.AvailableCommands)
	return marshal(plain(v))
}

// BooleanConfigOptionCapabilities: Capabilities for boolean session configuration options.
type BooleanConfigOptionCapabilities struct {
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// BooleanPropertySchema: Schema for boolean properties in an elicitation form.
type BooleanPropertySchema struct {
	// Optional title for the property.
	Title string `json:"title,omitzero"`
	// Human-readable description.
	Description string `json:"description,omitzero"`
	// Default value.
	Default *bool           `json:"default,omitzero"`
	Meta    json.RawMessage `json:"_meta,omitzero"`
}

// CancelNotification: Notification to cancel ongoing operations for a session.
type CancelNotification struct {
	// The ID of the session to cancel operations for.
	SessionID SessionID       `json:"sessionId"`
	Meta      json.RawMessage `json:"_meta,omitzero"`
}

// CancelRequestNotification: Notification to cancel an ongoing request.
type CancelRequestNotification struct {
	// The ID of the request to cancel.
	RequestID json.RawMessage `json:"requestId"`
	Meta      json.RawMessage `json:"_meta,omitzero"`
}

// ClientCapabilities: Capabilities supported by the client.
type ClientCapabilities struct {
	// File system capabilities supported by the client. Determines which file operations the
	// agent can request.
	Fs *FileSystemCapabilities `json:"fs,omitzero"`
	// Whether the Client support all `terminal/*` methods.
	Terminal bool `json:"terminal,omitzero"`
	// Session-related capabilities supported by the client.
	Session *ClientSessionCapabilities `json:"session,omitzero"`
	// Authentication capabilities supported by the client. Determines which authentication
	// method types the agent may include in its `InitializeResponse`.
	Auth *AuthCapabilities `json:"auth,omitzero"`
	// Elicitation capabilities supported by the client. Determines which elicitation modes the
	// agent may use.
	Elicitation *ElicitationCapabilities `json:"elicitation,omitzero"`
	Meta        json.RawMessage          `json:"_meta,omitzero"`
}

// ClientSessionCapabilities: Session-related capabilities supported by the client.
type ClientSessionCapabilities struct {
	// Support for ID-addressed context compaction updates. Omitted or `null` means unsupported.
	// `{}` advertises the complete compaction contract.
	Compaction *CompactionCapabilities `json:"compaction,omitzero"`
	// Config option capabilities supported by the client.
	ConfigOptions *SessionConfigOptionsCapabilities `json:"configOptions,omitzero"`
	// Support for live user-facing `notice` session updates.
	Notices *NoticeCapabilities `json:"notices,omitzero"`
	Meta    json.RawMessage     `json:"_meta,omitzero"`
}

// CloseSessionRequest: Request parameters for closing an active session.
type CloseSessionRequest struct {
	// The ID of the session to close.
	SessionID SessionID       `json:"sessionId"`
	Meta      json.RawMessage `json:"_meta,omitzero"`
}

// CloseSessionResponse: Response from closing a session.
type CloseSessionResponse struct {
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// CompactionCapabilities: Client support for ID-addressed context compaction updates.
type CompactionCapabilities struct {
}

// CompactionID: Unique identifier for a context compaction within a session.
type CompactionID = string

// CompactionStatus: Lifecycle state of a context compaction.
type CompactionStatus string

const (
	// Compaction has started and has not finished.
	CompactionInProgress CompactionStatus = "in_progress"
	// Compaction finished successfully.
	CompactionCompleted CompactionStatus = "completed"
	// Compaction finished unsuccessfully.
	CompactionFailed CompactionStatus = "failed"
	// Compaction was cancelled before it finished.
	CompactionCancelled CompactionStatus = "cancelled"
)

// CompactionSummaryChunk: A content block appended to a compaction's summary. A first-seen
// ID creates an in-progress compaction. Chunks append in receive order. Agents MUST only
// send this update when the Client advertised the `session.compaction` Client capability.
type CompactionSummaryChunk struct {
	// ID of the compaction whose summary receives this content.
	CompactionID CompactionID `json:"compactionId"`
	// One content block to append.
	Content ContentBlock    `json:"content"`
	Meta    json.RawMessage `json:"_meta,omitzero"`
}

// CompactionUpdate: A context compaction upsert. The first notification fixes the
// compaction's timeline position. Later updates with the same ID patch that entity in
// place. Agents MUST only send this update when the Client advertised the
// `session.compaction` Client capability.
type CompactionUpdate struct {
	// The Agent-owned ID of this compaction, unique within the session.
	CompactionID CompactionID `json:"compactionId"`
	// Current lifecycle status.
	Status CompactionStatus `json:"status"`
	// Complete replacement user-displayable summary content for the compaction.
	Summary []ContentBlock `json:"summary,omitzero"`
	// Human-readable error details for the compaction.
	Error string          `json:"error,omitzero"`
	Meta  json.RawMessage `json:"_meta,omitzero"`
}

// CompleteElicitationNotification: Notification sent by the agent when a URL-based
// elicitation is complete.
type CompleteElicitationNotification struct {
	// The ID of the elicitation that completed.
	ElicitationID ElicitationID   `json:"elicitationId"`
	Meta          json.RawMessage `json:"_meta,omitzero"`
}

// ConfigOptionUpdate: Session configuration options have been updated.
type ConfigOptionUpdate struct {
	// The full set of configuration options and their current values.
	ConfigOptions []SessionConfigOption `json:"configOptions"`
	Meta          json.RawMessage       `json:"_meta,omitzero"`
}

// MarshalJSON writes required lists as [], never null.
func (v ConfigOptionUpdate) MarshalJSON() ([]byte, error) {
	type plain ConfigOptionUpdate
	v.ConfigOptions = list(v.ConfigOptions)
	return marshal(plain(v))
}

// Content: Standard content block (text, images, resources).
type Content struct {
	// The actual content block.
	Content ContentBlock    `json:"content"`
	Meta    json.RawMessage `json:"_meta,omitzero"`
}

// ContentBlock: Content blocks represent displayable information in the Agent Client
// Protocol.
//
// One of the pointers is set, or Raw for a variant that is unknown here.
type ContentBlock struct {
	Kind             string // the member "type" of the JSON
	TextContent      *TextContent
	ImageContent     *ImageContent
	AudioContent     *AudioContent
	ResourceLink     *ResourceLink
	EmbeddedResource *EmbeddedResource
	Raw              json.RawMessage
}

// Kinds of ContentBlock.
const (
	BlockText         = "text"
	BlockImage        = "image"
	BlockAudio        = "audio"
	BlockResourceLink = "resource_link"
	BlockResource     = "resource"
)

func (u ContentBlock) variant() (kind string, v any) {
	switch {
	case u.TextContent != nil:
		return "text", u.TextContent
	case u.ImageContent != nil:
		return "image", u.ImageContent
	case u.AudioContent != nil:
		return "audio", u.AudioContent
	case u.ResourceLink != nil:
		return "resource_link", u.ResourceLink
	case u.EmbeddedResource != nil:
		return "resource", u.EmbeddedResource
	}
	return u.Kind, nil
}

// MarshalJSON implements json.Marshaler.
func (u ContentBlock) MarshalJSON() ([]byte, error) {
	kind, v := u.variant()
	return marshalUnion("type", kind, v, u.Raw)
}

// UnmarshalJSON implements json.Unmarshaler.
func (u *ContentBlock) UnmarshalJSON(b []byte) error {
	kind, err := kindOf(b, "type")
	if err != nil {
		return err
	}
	*u = ContentBlock{Kind: kind}
	switch kind {
	case "text":
		u.TextContent = new(TextContent)
		return json.Unmarshal(b, u.TextContent)
	case "image":
		u.ImageContent = new(ImageContent)
		return json.Unmarshal(b, u.ImageContent)
	case "audio":
		u.AudioContent = new(AudioContent)
		return json.Unmarshal(b, u.AudioContent)
	case "resource_link":
		u.ResourceLink = new(ResourceLink)
		return json.Unmarshal(b, u.ResourceLink)
	case "resource":
		u.EmbeddedResource = new(EmbeddedResource)
		return json.Unmarshal(b, u.EmbeddedResource)
	}
	u.Raw = append(u.Raw, b...)
	return nil
}

// ContentChunk: A streamed item of content
type ContentChunk struct {
	// A single item of content
	Content ContentBlock `json:"content"`
	// A unique identifier for the message this chunk belongs to.
	MessageID MessageID       `json:"messageId,omitzero"`
	Meta      json.RawMessage `json:"_meta,omitzero"`
}

// Cost: Cost information for a session.
type Cost struct {
	// Total cumulative cost for session.
	Amount float64 `json:"amount"`
	// Unit of `amount`: an ISO 4217 currency code (e.g., "USD", "EUR") for money, or another
	// unit such as "credits".
	Currency string          `json:"currency"`
	Meta     json.RawMessage `json:"_meta,omitzero"`
}

// CreateElicitationRequest: Request from the agent to elicit structured user input.
type CreateElicitationRequest struct {
	// A human-readable message describing what input is needed.
	Message string `json:"message"`
	// A JSON Schema describing the form fields to present to the user.
	RequestedSchema *ElicitationSchema `json:"requestedSchema,omitzero"`
	// The session this elicitation is tied to.
	SessionID SessionID `json:"sessionId,omitzero"`
	// Optional tool call within the session.
	ToolCallID ToolCallID `json:"toolCallId,omitzero"`
	// The request this elicitation is tied to.
	RequestID json.RawMessage `json:"requestId,omitzero"`
	// Custom or future elicitation mode.
	Mode string `json:"mode"`
	// The unique identifier for this elicitation.
	ElicitationID ElicitationID `json:"elicitationId,omitzero"`
	// The URL to direct the user to.
	URL  string          `json:"url,omitzero"`
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// CreateElicitationResponse: Response from the client to an elicitation request.
type CreateElicitationResponse struct {
	// The user-provided content, if any, as an object matching the requested schema.
	Content map[string]json.RawMessage `json:"content,omitzero"`
	// Custom or future elicitation action.
	Action string          `json:"action"`
	Meta   json.RawMessage `json:"_meta,omitzero"`
}

// CreateTerminalRequest: Request to create a new terminal and execute a command.
type CreateTerminalRequest struct {
	// The session ID for this request.
	SessionID SessionID `json:"sessionId"`
	// The command to execute.
	Command string `json:"command"`
	// Array of command arguments.
	Args []string `json:"args,omitzero"`
	// Environment variables for the command.
	Env []EnvVariable `json:"env,omitzero"`
	// Working directory for the command. Must be an absolute path.
	Cwd string `json:"cwd,omitzero"`
	// Maximum number of output bytes to retain.
	OutputByteLimit *int64          `json:"outputByteLimit,omitzero"`
	Meta            json.RawMessage `json:"_meta,omitzero"`
}

// CreateTerminalResponse: Response containing the ID of the created terminal.
type CreateTerminalResponse struct {
	// The unique identifier for the created terminal.
	TerminalID TerminalID      `json:"terminalId"`
	Meta       json.RawMessage `json:"_meta,omitzero"`
}

// CurrentModeUpdate: The current mode of the session has changed
type CurrentModeUpdate struct {
	// The ID of the current mode
	CurrentModeID SessionModeID   `json:"currentModeId"`
	Meta          json.RawMessage `json:"_meta,omitzero"`
}

// DeleteSessionRequest: Request parameters for deleting an existing session from
// `session/list`.
type DeleteSessionRequest struct {
	// The ID of the session to delete.
	SessionID SessionID       `json:"sessionId"`
	Meta      json.RawMessage `json:"_meta,omitzero"`
}

// DeleteSessionResponse: Response from deleting a session.
type DeleteSessionResponse struct {
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// Diff: A diff representing file modifications.
type Diff struct {
	// The absolute file path being modified.
	Path string `json:"path"`
	// The original content (omitted or `null` for new files).
	OldText *string `json:"oldText,omitzero"`
	// The new content after modification.
	NewText string          `json:"newText"`
	Meta    json.RawMessage `json:"_meta,omitzero"`
}

// ElicitationCapabilities: Elicitation capabilities supported by the client.
type ElicitationCapabilities struct {
	// Whether the client supports form-based elicitation.
	Form *ElicitationFormCapabilities `json:"form,omitzero"`
	// Whether the client supports URL-based elicitation.
	URL  *ElicitationUrlCapabilities `json:"url,omitzero"`
	Meta json.RawMessage             `json:"_meta,omitzero"`
}

// ElicitationFormCapabilities: Form-based elicitation capabilities.
type ElicitationFormCapabilities struct {
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// ElicitationID: Unique identifier for an elicitation.
type ElicitationID = string

// ElicitationPropertySchema: Property schema for elicitation form fields.
//
// One of the pointers is set, or Raw for a variant that is unknown here.
type ElicitationPropertySchema struct {
	Kind                      string // the member "type" of the JSON
	StringPropertySchema      *StringPropertySchema
	NumberPropertySchema      *NumberPropertySchema
	IntegerPropertySchema     *IntegerPropertySchema
	BooleanPropertySchema     *BooleanPropertySchema
	MultiSelectPropertySchema *MultiSelectPropertySchema
	Raw                       json.RawMessage
}

// Kinds of ElicitationPropertySchema.
const (
	ElicitationPropertySchemaKindString  = "string"
	ElicitationPropertySchemaKindNumber  = "number"
	ElicitationPropertySchemaKindInteger = "integer"
	ElicitationPropertySchemaKindBoolean = "boolean"
	ElicitationPropertySchemaKindArray   = "array"
)

func (u ElicitationPropertySchema) variant() (kind string, v any) {
	switch {
	case u.StringPropertySchema != nil:
		return "string", u.StringPropertySchema
	case u.NumberPropertySchema != nil:
		return "number", u.NumberPropertySchema
	case u.IntegerPropertySchema != nil:
		return "integer", u.IntegerPropertySchema
	case u.BooleanPropertySchema != nil:
		return "boolean", u.BooleanPropertySchema
	case u.MultiSelectPropertySchema != nil:
		return "array", u.MultiSelectPropertySchema
	}
	return u.Kind, nil
}

// MarshalJSON implements json.Marshaler.
func (u ElicitationPropertySchema) MarshalJSON() ([]byte, error) {
	kind, v := u.variant()
	return marshalUnion("type", kind, v, u.Raw)
}

// UnmarshalJSON implements json.Unmarshaler.
func (u *ElicitationPropertySchema) UnmarshalJSON(b []byte) error {
	kind, err := kindOf(b, "type")
	if err != nil {
		return err
	}
	*u = ElicitationPropertySchema{Kind: kind}
	switch kind {
	case "string":
		u.StringPropertySchema = new(StringPropertySchema)
		return json.Unmarshal(b, u.StringPropertySchema)
	case "number":
		u.NumberPropertySchema = new(NumberPropertySchema)
		return json.Unmarshal(b, u.NumberPropertySchema)
	case "integer":
		u.IntegerPropertySchema = new(IntegerPropertySchema)
		return json.Unmarshal(b, u.IntegerPropertySchema)
	case "boolean":
		u.BooleanPropertySchema = new(BooleanPropertySchema)
		return json.Unmarshal(b, u.BooleanPropertySchema)
	case "array":
		u.MultiSelectPropertySchema = new(MultiSelectPropertySchema)
		return json.Unmarshal(b, u.MultiSelectPropertySchema)
	}
	u.Raw = append(u.Raw, b...)
	return nil
}

// ElicitationSchema: Type-safe elicitation schema for requesting structured user input.
type ElicitationSchema struct {
	// Type discriminator. Always `"object"`.
	Type ElicitationSchemaType `json:"type,omitzero"`
	// Optional title for the schema.
	Title string `json:"title,omitzero"`
	// Property definitions (must be primitive types).
	Properties map[string]ElicitationPropertySchema `json:"properties,omitzero"`
	// List of required property names.
	Required []string `json:"required,omitzero"`
	// Optional description of what this schema represents.
	Description string          `json:"description,omitzero"`
	Meta        json.RawMessage `json:"_meta,omitzero"`
}

// ElicitationSchemaType: Type discriminator for elicitation schemas.
type ElicitationSchemaType string

const (
	// Object schema type.
	ElicitationSchemaTypeObject ElicitationSchemaType = "object"
)

// ElicitationUrlCapabilities: URL-based elicitation capabilities.
type ElicitationUrlCapabilities struct {
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// EmbeddedResource: The contents of a resource, embedded into a prompt or tool call result.
type EmbeddedResource struct {
	// Optional annotations that help clients decide how to display or route this content.
	Annotations *Annotations `json:"annotations,omitzero"`
	// Embedded resource payload, either text or binary data.
	Resource EmbeddedResourceResource `json:"resource"`
	Meta     json.RawMessage          `json:"_meta,omitzero"`
}

// EmbeddedResourceResource: Resource content that can be embedded in a message.
type EmbeddedResourceResource struct {
	// MIME type describing the encoded media payload.
	MimeType string `json:"mimeType,omitzero"`
	// Text payload carried by this content block.
	Text *string `json:"text,omitzero"`
	// URI associated with this resource or media payload.
	URI string `json:"uri"`
	// Base64-encoded bytes for a binary resource payload.
	Blob *string         `json:"blob,omitzero"`
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// EnumOption: A titled enum option with a const value, human-readable title, and optional
// description.
type EnumOption struct {
	// The constant value for this option.
	Const string `json:"const"`
	// Human-readable title for this option.
	Title string `json:"title"`
	// Human-readable description.
	Description string          `json:"description,omitzero"`
	Meta        json.RawMessage `json:"_meta,omitzero"`
}

// EnvVariable: An environment variable to set when launching an MCP server.
type EnvVariable struct {
	// The name of the environment variable.
	Name string `json:"name"`
	// The value to set for the environment variable.
	Value string          `json:"value"`
	Meta  json.RawMessage `json:"_meta,omitzero"`
}

// FileSystemCapabilities: File system capabilities that a client may support.
type FileSystemCapabilities struct {
	// Whether the Client supports `fs/read_text_file` requests.
	ReadTextFile bool `json:"readTextFile,omitzero"`
	// Whether the Client supports `fs/write_text_file` requests.
	WriteTextFile bool            `json:"writeTextFile,omitzero"`
	Meta          json.RawMessage `json:"_meta,omitzero"`
}

// HttpHeader: An HTTP header to set when making requests to the MCP server.
type HttpHeader struct {
	// The name of the HTTP header.
	Name string `json:"name"`
	// The value to set for the HTTP header.
	Value string          `json:"value"`
	Meta  json.RawMessage `json:"_meta,omitzero"`
}

// ImageContent: An image provided to or from an LLM.
type ImageContent struct {
	// Optional annotations that help clients decide how to display or route this content.
	Annotations *Annotations `json:"annotations,omitzero"`
	// Base64-encoded media payload.
	Data string `json:"data"`
	// MIME type describing the encoded media payload.
	MimeType string `json:"mimeType"`
	// URI associated with this resource or media payload.
	URI  string          `json:"uri,omitzero"`
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// Implementation: Metadata about the implementation of the client or agent. Describes the
// name and version of an ACP implementation, with an optional title for UI representation.
type Implementation struct {
	// Intended for programmatic or logical use, but can be used as a display name fallback if
	// title isn't present.
	Name string `json:"name"`
	// Intended for UI and end-user contexts and optimized to be human-readable and easily
	// understood.
	Title string `json:"title,omitzero"`
	// Version of the implementation. Can be displayed to the user or used for debugging or
	// metrics purposes. (e.g. "1.0.0").
	Version string          `json:"version"`
	Meta    json.RawMessage `json:"_meta,omitzero"`
}

// InitializeRequest: Request parameters for the initialize method.
type InitializeRequest struct {
	// The latest protocol version supported by the client.
	ProtocolVersion int `json:"protocolVersion"`
	// Capabilities supported by the client.
	ClientCapabilities *ClientCapabilities `json:"clientCapabilities,omitzero"`
	// Information about the Client name and version sent to the Agent.
	ClientInfo *Implementation `json:"clientInfo,omitzero"`
	Meta       json.RawMessage `json:"_meta,omitzero"`
}

// InitializeResponse: Response to the `initialize` method.
type InitializeResponse struct {
	// The protocol version the client specified if supported by the agent, or the latest
	// protocol version supported by the agent.
	ProtocolVersion int `json:"protocolVersion"`
	// Capabilities supported by the agent.
	AgentCapabilities *AgentCapabilities `json:"agentCapabilities,omitzero"`
	// Authentication methods supported by the agent.
	AuthMethods []AuthMethod `json:"authMethods,omitzero"`
	// Information about the Agent name and version sent to the Client.
	AgentInfo *Implementation `json:"agentInfo,omitzero"`
	Meta      json.RawMessage `json:"_meta,omitzero"`
}

// IntegerPropertySchema: Schema for integer properties in an elicitation form.
type IntegerPropertySchema struct {
	// Optional title for the property.
	Title string `json:"title,omitzero"`
	// Human-readable description.
	Description string `json:"description,omitzero"`
	// Minimum value (inclusive).
	Minimum *int64 `json:"minimum,omitzero"`
	// Maximum value (inclusive).
	Maximum *int64 `json:"maximum,omitzero"`
	// Default value.
	Default *int64          `json:"default,omitzero"`
	Meta    json.RawMessage `json:"_meta,omitzero"`
}

// KillTerminalRequest: Request to kill a terminal without releasing it.
type KillTerminalRequest struct {
	// The session ID for this request.
	SessionID SessionID `json:"sessionId"`
	// The ID of the terminal to kill.
	TerminalID TerminalID      `json:"terminalId"`
	Meta       json.RawMessage `json:"_meta,omitzero"`
}

// KillTerminalResponse: Response to `terminal/kill` method
type KillTerminalResponse struct {
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// ListSessionsRequest: Request parameters for listing existing sessions.
type ListSessionsRequest struct {
	// Filter sessions by working directory. Must be an absolute path.
	Cwd string `json:"cwd,omitzero"`
	// Opaque cursor token from a previous response's nextCursor field for cursor-based
	// pagination
	Cursor string          `json:"cursor,omitzero"`
	Meta   json.RawMessage `json:"_meta,omitzero"`
}

// ListSessionsResponse: Response from listing sessions.
type ListSessionsResponse struct {
	// Array of session information objects
	Sessions []SessionInfo `json:"sessions"`
	// Opaque cursor token. If present, pass this in the next request's cursor parameter to
	// fetch the next page. If absent, there are no more results.
	NextCursor string          `json:"nextCursor,omitzero"`
	Meta       json.RawMessage `json:"_meta,omitzero"`
}

// MarshalJSON writes required lists as [], never null.
func (v ListSessionsResponse) MarshalJSON() ([]byte, error) {
	type plain ListSessionsResponse
	v.Sessions = list(v.Sessions)
	return marshal(plain(v))
}

// LoadSessionRequest: Request parameters for loading an existing session.
type LoadSessionRequest struct {
	// List of MCP servers to connect to for this session.
	McpServers []McpServer `json:"mcpServers"`
	// The working directory for this session. Must be an absolute path.
	Cwd string `json:"cwd"`
	// Additional workspace roots to activate for this session. Each path must be absolute.
	AdditionalDirectories []string `json:"additionalDirectories,omitzero"`
	// The ID of the session to load.
	SessionID SessionID       `json:"sessionId"`
	Meta      json.RawMessage `json:"_meta,omitzero"`
}

// MarshalJSON writes required lists as [], never null.
func (v LoadSessionRequest) MarshalJSON() ([]byte, error) {
	type plain LoadSessionRequest
	v.McpServers = list(v.McpServers)
	return marshal(plain(v))
}

// LoadSessionResponse: Response from loading an existing session.
type LoadSessionResponse struct {
	// Initial mode state if supported by the Agent
	Modes *SessionModeState `json:"modes,omitzero"`
	// Initial session configuration options if supported by the Agent.
	ConfigOptions []SessionConfigOption `json:"configOptions,omitzero"`
	Meta          json.RawMessage       `json:"_meta,omitzero"`
}

// LogoutCapabilities: Logout capabilities supported by the agent.
type LogoutCapabilities struct {
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// LogoutRequest: Request parameters for the logout method.
type LogoutRequest struct {
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// LogoutResponse: Response to the `logout` method.
type LogoutResponse struct {
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// McpCapabilities: MCP capabilities supported by the agent
type McpCapabilities struct {
	// Agent supports `http` MCP servers.
	Http bool `json:"http,omitzero"`
	// Agent supports `sse` MCP servers.
	Sse  bool            `json:"sse,omitzero"`
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// McpServer: Configuration for connecting to an MCP (Model Context Protocol) server.
//
// One of the pointers is set, or Raw for a variant that is unknown here.
type McpServer struct {
	Kind           string // the member "type" of the JSON
	McpServerHttp  *McpServerHttp
	McpServerSse   *McpServerSse
	McpServerStdio *McpServerStdio
	Raw            json.RawMessage
}

// Kinds of McpServer.
const (
	McpServerKindHttp = "http"
	McpServerKindSse  = "sse"
)

func (u McpServer) variant() (kind string, v any) {
	switch {
	case u.McpServerHttp != nil:
		return "http", u.McpServerHttp
	case u.McpServerSse != nil:
		return "sse", u.McpServerSse
	case u.McpServerStdio != nil:
		return "", u.McpServerStdio
	}
	return u.Kind, nil
}

// MarshalJSON implements json.Marshaler.
func (u McpServer) MarshalJSON() ([]byte, error) {
	kind, v := u.variant()
	return marshalUnion("type", kind, v, u.Raw)
}

// UnmarshalJSON implements json.Unmarshaler.
func (u *McpServer) UnmarshalJSON(b []byte) error {
	kind, err := kindOf(b, "type")
	if err != nil {
		return err
	}
	*u = McpServer{Kind: kind}
	switch kind {
	case "http":
		u.McpServerHttp = new(McpServerHttp)
		return json.Unmarshal(b, u.McpServerHttp)
	case "sse":
		u.McpServerSse = new(McpServerSse)
		return json.Unmarshal(b, u.McpServerSse)
	case "", "stdio":
		u.Kind, u.McpServerStdio = "", new(McpServerStdio)
		return json.Unmarshal(b, u.McpServerStdio)
	}
	u.Raw = append(u.Raw, b...)
	return nil
}

// McpServerHttp: HTTP transport configuration for MCP.
type McpServerHttp struct {
	// Human-readable name identifying this MCP server.
	Name string `json:"name"`
	// URL to the MCP server.
	URL string `json:"url"`
	// HTTP headers to set when making requests to the MCP server.
	Headers []HttpHeader    `json:"headers"`
	Meta    json.RawMessage `json:"_meta,omitzero"`
}

// MarshalJSON writes required lists as [], never null.
func (v McpServerHttp) MarshalJSON() ([]byte, error) {
	type plain McpServerHttp
	v.Headers = list(v.Headers)
	return marshal(plain(v))
}

// McpServerSse: SSE transport configuration for MCP.
type McpServerSse struct {
	// Human-readable name identifying this MCP server.
	Name string `json:"name"`
	// URL to the MCP server.
	URL string `json:"url"`
	// HTTP headers to set when making requests to the MCP server.
	Headers []HttpHeader    `json:"headers"`
	Meta    json.RawMessage `json:"_meta,omitzero"`
}

// MarshalJSON writes required lists as [], never null.
func (v McpServerSse) MarshalJSON() ([]byte, error) {
	type plain McpServerSse
	v.Headers = list(v.Headers)
	return marshal(plain(v))
}

// McpServerStdio: Stdio transport configuration for MCP.
type McpServerStdio struct {
	// Human-readable name identifying this MCP server.
	Name string `json:"name"`
	// Absolute path to the MCP server executable.
	Command string `json:"command"`
	// Command-line arguments to pass to the MCP server.
	Args []string `json:"args"`
	// Environment variables to set when launching the MCP server.
	Env  []EnvVariable   `json:"env"`
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// MarshalJSON writes required lists as [], never null.
func (v McpServerStdio) MarshalJSON() ([]byte, error) {
	type plain McpServerStdio
	v.Args = list(v.Args)
	v.Env = list(v.Env)
	return marshal(plain(v))
}

// MessageID: Unique identifier for a message within a session.
type MessageID = string

// MultiSelectItems: Items for a multi-select (array) property schema.
//
// One of the pointers is set, or Raw for a variant that is unknown here.
type MultiSelectItems struct {
	Kind                   string // the member "type" of the JSON
	StringMultiSelectItems *StringMultiSelectItems
	TitledMultiSelectItems *TitledMultiSelectItems
	Raw                    json.RawMessage
}

// Kinds of MultiSelectItems.
const (
	MultiSelectItemsKindString = "string"
)

func (u MultiSelectItems) variant() (kind string, v any) {
	switch {
	case u.StringMultiSelectItems != nil:
		return "string", u.StringMultiSelectItems
	case u.TitledMultiSelectItems != nil:
		return "", u.TitledMultiSelectItems
	}
	return u.Kind, nil
}

// MarshalJSON implements json.Marshaler.
func (u MultiSelectItems) MarshalJSON() ([]byte, error) {
	kind, v := u.variant()
	return marshalUnion("type", kind, v, u.Raw)
}

// UnmarshalJSON implements json.Unmarshaler.
func (u *MultiSelectItems) UnmarshalJSON(b []byte) error {
	kind, err := kindOf(b, "type")
	if err != nil {
		return err
	}
	*u = MultiSelectItems{Kind: kind}
	switch kind {
	case "string":
		u.StringMultiSelectItems = new(StringMultiSelectItems)
		return json.Unmarshal(b, u.StringMultiSelectItems)
	case "", "titled":
		u.Kind, u.TitledMultiSelectItems = "", new(TitledMultiSelectItems)
		return json.Unmarshal(b, u.TitledMultiSelectItems)
	}
	u.Raw = append(u.Raw, b...)
	return nil
}

// MultiSelectPropertySchema: Schema for multi-select (array) properties in an elicitation
// form.
type MultiSelectPropertySchema struct {
	// Optional title for the property.
	Title string `json:"title,omitzero"`
	// Human-readable description.
	Description string `json:"description,omitzero"`
	// Minimum number of items to select.
	MinItems *int64 `json:"minItems,omitzero"`
	// Maximum number of items to select.
	MaxItems *int64 `json:"maxItems,omitzero"`
	// The items definition describing allowed values.
	Items MultiSelectItems `json:"items"`
	// Default selected values.
	Default []string        `json:"default,omitzero"`
	Meta    json.RawMessage `json:"_meta,omitzero"`
}

// NewSessionRequest: Request parameters for creating a new session.
type NewSessionRequest struct {
	// The working directory for this session. Must be an absolute path.
	Cwd string `json:"cwd"`
	// Additional workspace roots for this session. Each path must be absolute.
	AdditionalDirectories []string `json:"additionalDirectories,omitzero"`
	// List of MCP (Model Context Protocol) servers the agent should connect to.
	McpServers []McpServer     `json:"mcpServers"`
	Meta       json.RawMessage `json:"_meta,omitzero"`
}

// MarshalJSON writes required lists as [], never null.
func (v NewSessionRequest) MarshalJSON() ([]byte, error) {
	type plain NewSessionRequest
	v.McpServers = list(v.McpServers)
	return marshal(plain(v))
}

// NewSessionResponse: Response from creating a new session.
type NewSessionResponse struct {
	// Unique identifier for the created session.
	SessionID SessionID `json:"sessionId"`
	// Initial mode state if supported by the Agent
	Modes *SessionModeState `json:"modes,omitzero"`
	// Initial session configuration options if supported by the Agent.
	ConfigOptions []SessionConfigOption `json:"configOptions,omitzero"`
	Meta          json.RawMessage       `json:"_meta,omitzero"`
}

// Notice: Fire-and-forget information for the user.
type Notice struct {
	// Presentation severity hint.
	Severity NoticeSeverity `json:"severity"`
	// Required non-empty plain-text title that can stand alone.
	Title string `json:"title"`
	// Optional plain-text detail or guidance.
	Description string          `json:"description,omitzero"`
	Meta        json.RawMessage `json:"_meta,omitzero"`
}

// NoticeCapabilities: Client support for presenting live notices to the user.
type NoticeCapabilities struct {
}

// NoticeSeverity: Severity hint for a session notice.
type NoticeSeverity string

const (
	// Informational notice.
	NoticeInfo NoticeSeverity = "info"
	// Warning notice.
	NoticeWarning NoticeSeverity = "warning"
	// Error notice.
	NoticeError NoticeSeverity = "error"
)

// NumberPropertySchema: Schema for number (floating-point) properties in an elicitation
// form.
type NumberPropertySchema struct {
	// Optional title for the property.
	Title string `json:"title,omitzero"`
	// Human-readable description.
	Description string `json:"description,omitzero"`
	// Minimum value (inclusive).
	Minimum *float64 `json:"minimum,omitzero"`
	// Maximum value (inclusive).
	Maximum *float64 `json:"maximum,omitzero"`
	// Default value.
	Default *float64        `json:"default,omitzero"`
	Meta    json.RawMessage `json:"_meta,omitzero"`
}

// PermissionOption: An option presented to the user when requesting permission.
type PermissionOption struct {
	// Unique identifier for this permission option.
	OptionID PermissionOptionID `json:"optionId"`
	// Human-readable label to display to the user.
	Name string `json:"name"`
	// Hint about the nature of this permission option.
	Kind PermissionOptionKind `json:"kind"`
	Meta json.RawMessage      `json:"_meta,omitzero"`
}

// PermissionOptionID: Unique identifier for a permission option.
type PermissionOptionID = string

// PermissionOptionKind: The type of permission option being presented to the user.
type PermissionOptionKind string

const (
	// Allow this operation only this time.
	PermissionAllowOnce PermissionOptionKind = "allow_once"
	// Allow this operation and remember the choice.
	PermissionAllowAlways PermissionOptionKind = "allow_always"
	// Reject this operation only this time.
	PermissionRejectOnce PermissionOptionKind = "reject_once"
	// Reject this operation and remember the choice.
	PermissionRejectAlways PermissionOptionKind = "reject_always"
)

// Plan: An execution plan for accomplishing complex tasks.
type Plan struct {
	// The list of tasks to be accomplished.
	Entries []PlanEntry     `json:"entries"`
	Meta    json.RawMessage `json:"_meta,omitzero"`
}

// MarshalJSON writes required lists as [], never null.
func (v Plan) MarshalJSON() ([]byte, error) {
	type plain Plan
	v.Entries = list(v.Entries)
	return marshal(plain(v))
}

// PlanEntry: A single entry in the execution plan.
type PlanEntry struct {
	// Human-readable description of what this task aims to accomplish.
	Content string `json:"content"`
	// The relative importance of this task. Used to indicate which tasks are most critical to
	// the overall goal.
	Priority PlanEntryPriority `json:"priority"`
	// Current execution status of this task.
	Status PlanEntryStatus `json:"status"`
	Meta   json.RawMessage `json:"_meta,omitzero"`
}

// PlanEntryPriority: Priority levels for plan entries.
type PlanEntryPriority string

const (
	// High priority task - critical to the overall goal.
	PriorityHigh PlanEntryPriority = "high"
	// Medium priority task - important but not critical.
	PriorityMedium PlanEntryPriority = "medium"
	// Low priority task - nice to have but not essential.
	PriorityLow PlanEntryPriority = "low"
)

// PlanEntryStatus: Status of a plan entry in the execution flow.
type PlanEntryStatus string

const (
	// The task has not started yet.
	PlanPending PlanEntryStatus = "pending"
	// The task is currently being worked on.
	PlanInProgress PlanEntryStatus = "in_progress"
	// The task has been successfully completed.
	PlanCompleted PlanEntryStatus = "completed"
)

// PromptCapabilities: Prompt capabilities supported by the agent in `session/prompt`
// requests.
type PromptCapabilities struct {
	// Agent supports `image` content blocks.
	Image bool `json:"image,omitzero"`
	// Agent supports `audio` content blocks.
	Audio bool `json:"audio,omitzero"`
	// Agent supports embedded context in `session/prompt` requests.
	EmbeddedContext bool            `json:"embeddedContext,omitzero"`
	Meta            json.RawMessage `json:"_meta,omitzero"`
}

// PromptRequest: Request parameters for sending a user prompt to the agent.
type PromptRequest struct {
	// The ID of the session to send this user message to
	SessionID SessionID `json:"sessionId"`
	// The blocks of content that compose the user's message.
	Prompt []ContentBlock  `json:"prompt"`
	Meta   json.RawMessage `json:"_meta,omitzero"`
}

// MarshalJSON writes required lists as [], never null.
func (v PromptRequest) MarshalJSON() ([]byte, error) {
	type plain PromptRequest
	v.Prompt = list(v.Prompt)
	return marshal(plain(v))
}

// PromptResponse: Response from processing a user prompt.
type PromptResponse struct {
	// Indicates why the agent stopped processing the turn.
	StopReason StopReason      `json:"stopReason"`
	Meta       json.RawMessage `json:"_meta,omitzero"`
}

// ReadTextFileRequest: Request to read content from a text file.
type ReadTextFileRequest struct {
	// The session ID for this request.
	SessionID SessionID `json:"sessionId"`
	// Absolute path to the file to read.
	Path string `json:"path"`
	// Line number to start reading from (1-based).
	Line uint32 `json:"line,omitzero"`
	// Maximum number of lines to read.
	Limit *int64          `json:"limit,omitzero"`
	Meta  json.RawMessage `json:"_meta,omitzero"`
}

// ReadTextFileResponse: Response containing the contents of a text file.
type ReadTextFileResponse struct {
	// Content payload returned by this response.
	Content string          `json:"content"`
	Meta    json.RawMessage `json:"_meta,omitzero"`
}

// ReleaseTerminalRequest: Request to release a terminal and free its resources.
type ReleaseTerminalRequest struct {
	// The session ID for this request.
	SessionID SessionID `json:"sessionId"`
	// The ID of the terminal to release.
	TerminalID TerminalID      `json:"terminalId"`
	Meta       json.RawMessage `json:"_meta,omitzero"`
}

// ReleaseTerminalResponse: Response to terminal/release method
type ReleaseTerminalResponse struct {
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// RequestPermissionOutcome: The outcome of a permission request.
//
// One of the pointers is set, or Raw for a variant that is unknown here.
type RequestPermissionOutcome struct {
	Kind                      string // the member "outcome" of the JSON
	SelectedPermissionOutcome *SelectedPermissionOutcome
	Raw                       json.RawMessage
}

// Kinds of RequestPermissionOutcome.
const (
	OutcomeCancelled = "cancelled"
	OutcomeSelected  = "selected"
)

func (u RequestPermissionOutcome) variant() (kind string, v any) {
	switch {
	case u.SelectedPermissionOutcome != nil:
		return "selected", u.SelectedPermissionOutcome
	}
	return u.Kind, nil
}

// MarshalJSON implements json.Marshaler.
func (u RequestPermissionOutcome) MarshalJSON() ([]byte, error) {
	kind, v := u.variant()
	return marshalUnion("outcome", kind, v, u.Raw)
}

// UnmarshalJSON implements json.Unmarshaler.
func (u *RequestPermissionOutcome) UnmarshalJSON(b []byte) error {
	kind, err := kindOf(b, "outcome")
	if err != nil {
		return err
	}
	*u = RequestPermissionOutcome{Kind: kind}
	switch kind {
	case "selected":
		u.SelectedPermissionOutcome = new(SelectedPermissionOutcome)
		return json.Unmarshal(b, u.SelectedPermissionOutcome)
	case "cancelled":
		return nil
	}
	u.Raw = append(u.Raw, b...)
	return nil
}

// RequestPermissionRequest: Request for user permission to execute a tool call.
type RequestPermissionRequest struct {
	// The session ID for this request.
	SessionID SessionID `json:"sessionId"`
	// Details about the tool call requiring permission.
	ToolCall ToolCallUpdate `json:"toolCall"`
	// Available permission options for the user to choose from.
	Options []PermissionOption `json:"options"`
	Meta    json.RawMessage    `json:"_meta,omitzero"`
}

// MarshalJSON writes required lists as [], never null.
func (v RequestPermissionRequest) MarshalJSON() ([]byte, error) {
	type plain RequestPermissionRequest
	v.Options = list(v.Options)
	return marshal(plain(v))
}

// RequestPermissionResponse: Response to a permission request.
type RequestPermissionResponse struct {
	// The user's decision on the permission request.
	Outcome RequestPermissionOutcome `json:"outcome"`
	Meta    json.RawMessage          `json:"_meta,omitzero"`
}

// ResourceLink: A resource that the server is capable of reading, included in a prompt or
// tool call result.
type ResourceLink struct {
	// Optional annotations that help clients decide how to display or route this content.
	Annotations *Annotations `json:"annotations,omitzero"`
	// Optional human-readable details shown with this protocol object.
	Description string `json:"description,omitzero"`
	// MIME type describing the encoded media payload.
	MimeType string `json:"mimeType,omitzero"`
	// Human-readable name shown for this protocol object.
	Name string `json:"name"`
	// Optional size of the linked resource in bytes, if known.
	Size *int64 `json:"size,omitzero"`
	// Optional display title for end-user UI.
	Title string `json:"title,omitzero"`
	// URI associated with this resource or media payload.
	URI  string          `json:"uri"`
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// ResumeSessionRequest: Request parameters for resuming an existing session.
type ResumeSessionRequest struct {
	// The ID of the session to resume.
	SessionID SessionID `json:"sessionId"`
	// The working directory for this session. Must be an absolute path.
	Cwd string `json:"cwd"`
	// Additional workspace roots to activate for this session. Each path must be absolute.
	AdditionalDirectories []string `json:"additionalDirectories,omitzero"`
	// List of MCP servers to connect to for this session.
	McpServers []McpServer     `json:"mcpServers,omitzero"`
	Meta       json.RawMessage `json:"_meta,omitzero"`
}

// ResumeSessionResponse: Response from resuming an existing session.
type ResumeSessionResponse struct {
	// Initial mode state if supported by the Agent
	Modes *SessionModeState `json:"modes,omitzero"`
	// Initial session configuration options if supported by the Agent.
	ConfigOptions []SessionConfigOption `json:"configOptions,omitzero"`
	Meta          json.RawMessage       `json:"_meta,omitzero"`
}

// Role: The sender or recipient of messages and data in a conversation.
type Role string

const (
	// The assistant side of a conversation.
	RoleAssistant Role = "assistant"
	// The user side of a conversation.
	RoleUser Role = "user"
)

// SelectedPermissionOutcome: The user selected one of the provided options.
type SelectedPermissionOutcome struct {
	// The ID of the option the user selected.
	OptionID PermissionOptionID `json:"optionId"`
	Meta     json.RawMessage    `json:"_meta,omitzero"`
}

// SessionAdditionalDirectoriesCapabilities: Capabilities for additional session directories
// support.
type SessionAdditionalDirectoriesCapabilities struct {
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// SessionCapabilities: Session capabilities supported by the agent.
type SessionCapabilities struct {
	// Whether the agent supports `session/list`.
	List *SessionListCapabilities `json:"list,omitzero"`
	// Whether the agent supports `session/delete`.
	Delete *SessionDeleteCapabilities `json:"delete,omitzero"`
	// Whether the agent supports `additionalDirectories` on supported session lifecycle
	// requests.
	AdditionalDirectories *SessionAdditionalDirectoriesCapabilities `json:"additionalDirectories,omitzero"`
	// Whether the agent supports `session/resume`.
	Resume *SessionResumeCapabilities `json:"resume,omitzero"`
	// Whether the agent supports `session/close`.
	Close *SessionCloseCapabilities `json:"close,omitzero"`
	Meta  json.RawMessage           `json:"_meta,omitzero"`
}

// SessionCloseCapabilities: Capabilities for the `session/close` method.
type SessionCloseCapabilities struct {
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// SessionConfigGroupID: Unique identifier for a session configuration option value group.
type SessionConfigGroupID = string

// SessionConfigID: Unique identifier for a session configuration option.
type SessionConfigID = string

// SessionConfigOption: A session configuration option selector and its current state.
type SessionConfigOption struct {
	// Unique identifier for the configuration option.
	ID SessionConfigID `json:"id"`
	// Human-readable label for the option.
	Name string `json:"name"`
	// Optional description for the Client to display to the user.
	Description string `json:"description,omitzero"`
	// Optional semantic category for this option (UX only).
	Category     SessionConfigOptionCategory `json:"category,omitzero"`
	CurrentValue json.RawMessage             `json:"currentValue"`
	// The set of selectable options.
	Options json.RawMessage `json:"options,omitzero"`
	Type    string          `json:"type"`
	Meta    json.RawMessage `json:"_meta,omitzero"`
}

// SessionConfigOptionCategory: Semantic category for a session configuration option.
type SessionConfigOptionCategory string

const (
	// Session mode selector.
	CategoryMode SessionConfigOptionCategory = "mode"
	// Model selector.
	CategoryModel SessionConfigOptionCategory = "model"
	// Model-related configuration parameter.
	CategoryModelConfig SessionConfigOptionCategory = "model_config"
	// Thought/reasoning level selector.
	CategoryThoughtLevel SessionConfigOptionCategory = "thought_level"
)

// SessionConfigOptionsCapabilities: Session configuration option capabilities supported by
// the client.
type SessionConfigOptionsCapabilities struct {
	// Whether the client supports boolean session configuration options.
	Boolean *BooleanConfigOptionCapabilities `json:"boolean,omitzero"`
	Meta    json.RawMessage                  `json:"_meta,omitzero"`
}

// SessionConfigSelectGroup: A group of possible values for a session configuration option.
type SessionConfigSelectGroup struct {
	// Unique identifier for this group.
	Group SessionConfigGroupID `json:"group"`
	// Human-readable label for this group.
	Name string `json:"name"`
	// The set of option values in this group.
	Options []SessionConfigSelectOption `json:"options"`
	Meta    json.RawMessage             `json:"_meta,omitzero"`
}

// MarshalJSON writes required lists as [], never null.
func (v SessionConfigSelectGroup) MarshalJSON() ([]byte, error) {
	type plain SessionConfigSelectGroup
	v.Options = list(v.Options)
	return marshal(plain(v))
}

// SessionConfigSelectOption: A possible value for a session configuration option.
type SessionConfigSelectOption struct {
	// Unique identifier for this option value.
	Value SessionConfigValueID `json:"value"`
	// Human-readable label for this option value.
	Name string `json:"name"`
	// Optional description for this option value.
	Description string          `json:"description,omitzero"`
	Meta        json.RawMessage `json:"_meta,omitzero"`
}

// SessionConfigValueID: Unique identifier for a session configuration option value.
type SessionConfigValueID = string

// SessionDeleteCapabilities: Capabilities for the `session/delete` method.
type SessionDeleteCapabilities struct {
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// SessionID: A unique identifier for a conversation session between a client and agent.
type SessionID = string

// SessionInfo: Information about a session returned by session/list
type SessionInfo struct {
	// Unique identifier for the session
	SessionID SessionID `json:"sessionId"`
	// The working directory for this session. Must be an absolute path.
	Cwd string `json:"cwd"`
	// Additional workspace roots reported for this session. Each path must be absolute.
	AdditionalDirectories []string `json:"additionalDirectories,omitzero"`
	// Human-readable title for the session
	Title string `json:"title,omitzero"`
	// ISO 8601 timestamp of last activity
	UpdatedAt string          `json:"updatedAt,omitzero"`
	Meta      json.RawMessage `json:"_meta,omitzero"`
}

// SessionInfoUpdate: Update to session metadata. All fields are optional to support partial
// updates.
type SessionInfoUpdate struct {
	// Human-readable title for the session. Set to null to clear.
	Title Nullable `json:"title,omitzero"`
	// ISO 8601 timestamp of last activity. Set to null to clear.
	UpdatedAt Nullable        `json:"updatedAt,omitzero"`
	Meta      json.RawMessage `json:"_meta,omitzero"`
}

// SessionListCapabilities: Capabilities for the `session/list` method.
type SessionListCapabilities struct {
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// SessionMode: A mode the agent can operate in.
type SessionMode struct {
	// Stable identifier used to refer to this protocol object in later messages.
	ID SessionModeID `json:"id"`
	// Human-readable name shown for this protocol object.
	Name string `json:"name"`
	// Optional human-readable details shown with this protocol object.
	Description string          `json:"description,omitzero"`
	Meta        json.RawMessage `json:"_meta,omitzero"`
}

// SessionModeID: Unique identifier for a Session Mode.
type SessionModeID = string

// SessionModeState: The set of modes and the one currently active.
type SessionModeState struct {
	// The current mode the Agent is in.
	CurrentModeID SessionModeID `json:"currentModeId"`
	// The set of modes that the Agent can operate in
	AvailableModes []SessionMode   `json:"availableModes"`
	Meta           json.RawMessage `json:"_meta,omitzero"`
}

// MarshalJSON writes required lists as [], never null.
func (v SessionModeState) MarshalJSON() ([]byte, error) {
	type plain SessionModeState
	v.AvailableModes = list(v.AvailableModes)
	return marshal(plain(v))
}

// SessionNotification: Notification containing a session update from the agent.
type SessionNotification struct {
	// The ID of the session this update pertains to.
	SessionID SessionID `json:"sessionId"`
	// The actual update content.
	Update SessionUpdate   `json:"update"`
	Meta   json.RawMessage `json:"_meta,omitzero"`
}

// SessionResumeCapabilities: Capabilities for the `session/resume` method.
type SessionResumeCapabilities struct {
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// SessionUpdate: Different types of updates that can be sent during session processing.
//
// One of the pointers is set, or Raw for a variant that is unknown here.
type SessionUpdate struct {
	Kind                    string // the member "sessionUpdate" of the JSON
	ContentChunk            *ContentChunk
	ToolCall                *ToolCall
	ToolCallUpdate          *ToolCallUpdate
	Plan                    *Plan
	AvailableCommandsUpdate *AvailableCommandsUpdate
	CurrentModeUpdate       *CurrentModeUpdate
	ConfigOptionUpdate      *ConfigOptionUpdate
	SessionInfoUpdate       *SessionInfoUpdate
	UsageUpdate             *UsageUpdate
	Notice                  *Notice
	CompactionUpdate        *CompactionUpdate
	CompactionSummaryChunk  *CompactionSummaryChunk
	Raw                     json.RawMessage
}

// Kinds of SessionUpdate.
const (
	UpdateUserMessageChunk        = "user_message_chunk"
	UpdateAgentMessageChunk       = "agent_message_chunk"
	UpdateAgentThoughtChunk       = "agent_thought_chunk"
	UpdateToolCall                = "tool_call"
	UpdateToolCallUpdate          = "tool_call_update"
	UpdatePlan                    = "plan"
	UpdateAvailableCommandsUpdate = "available_commands_update"
	UpdateCurrentModeUpdate       = "current_mode_update"
	UpdateConfigOptionUpdate      = "config_option_update"
	UpdateSessionInfoUpdate       = "session_info_update"
	UpdateUsageUpdate             = "usage_update"
	UpdateNotice                  = "notice"
	UpdateCompactionUpdate        = "compaction_update"
	UpdateCompactionSummaryChunk  = "compaction_summary_chunk"
)

func (u SessionUpdate) variant() (kind string, v any) {
	switch {
	case u.ContentChunk != nil:
		return u.Kind, u.ContentChunk
	case u.ToolCall != nil:
		return "tool_call", u.ToolCall
	case u.ToolCallUpdate != nil:
		return "tool_call_update", u.ToolCallUpdate
	case u.Plan != nil:
		return "plan", u.Plan
	case u.AvailableCommandsUpdate != nil:
		return "available_commands_update", u.AvailableCommandsUpdate
	case u.CurrentModeUpdate != nil:
		return "current_mode_update", u.CurrentModeUpdate
	case u.ConfigOptionUpdate != nil:
		return "config_option_update", u.ConfigOptionUpdate
	case u.SessionInfoUpdate != nil:
		return "session_info_update", u.SessionInfoUpdate
	case u.UsageUpdate != nil:
		return "usage_update", u.UsageUpdate
	case u.Notice != nil:
		return "notice", u.Notice
	case u.CompactionUpdate != nil:
		return "compaction_update", u.CompactionUpdate
	case u.CompactionSummaryChunk != nil:
		return "compaction_summary_chunk", u.CompactionSummaryChunk
	}
	return u.Kind, nil
}

// MarshalJSON implements json.Marshaler.
func (u SessionUpdate) MarshalJSON() ([]byte, error) {
	kind, v := u.variant()
	return marshalUnion("sessionUpdate", kind, v, u.Raw)
}

// UnmarshalJSON implements json.Unmarshaler.
func (u *SessionUpdate) UnmarshalJSON(b []byte) error {
	kind, err := kindOf(b, "sessionUpdate")
	if err != nil {
		return err
	}
	*u = SessionUpdate{Kind: kind}
	switch kind {
	case "user_message_chunk", "agent_message_chunk", "agent_thought_chunk":
		u.ContentChunk = new(ContentChunk)
		return json.Unmarshal(b, u.ContentChunk)
	case "tool_call":
		u.ToolCall = new(ToolCall)
		return json.Unmarshal(b, u.ToolCall)
	case "tool_call_update":
		u.ToolCallUpdate = new(ToolCallUpdate)
		return json.Unmarshal(b, u.ToolCallUpdate)
	case "plan":
		u.Plan = new(Plan)
		return json.Unmarshal(b, u.Plan)
	case "available_commands_update":
		u.AvailableCommandsUpdate = new(AvailableCommandsUpdate)
		return json.Unmarshal(b, u.AvailableCommandsUpdate)
	case "current_mode_update":
		u.CurrentModeUpdate = new(CurrentModeUpdate)
		return json.Unmarshal(b, u.CurrentModeUpdate)
	case "config_option_update":
		u.ConfigOptionUpdate = new(ConfigOptionUpdate)
		return json.Unmarshal(b, u.ConfigOptionUpdate)
	case "session_info_update":
		u.SessionInfoUpdate = new(SessionInfoUpdate)
		return json.Unmarshal(b, u.SessionInfoUpdate)
	case "usage_update":
		u.UsageUpdate = new(UsageUpdate)
		return json.Unmarshal(b, u.UsageUpdate)
	case "notice":
		u.Notice = new(Notice)
		return json.Unmarshal(b, u.Notice)
	case "compaction_update":
		u.CompactionUpdate = new(CompactionUpdate)
		return json.Unmarshal(b, u.CompactionUpdate)
	case "compaction_summary_chunk":
		u.CompactionSummaryChunk = new(CompactionSummaryChunk)
		return json.Unmarshal(b, u.CompactionSummaryChunk)
	}
	u.Raw = append(u.Raw, b...)
	return nil
}

// SetSessionConfigOptionRequest: Request parameters for setting a session configuration
// option.
type SetSessionConfigOptionRequest struct {
	// The ID of the session to set the configuration option for.
	SessionID SessionID `json:"sessionId"`
	// The ID of the configuration option to set.
	ConfigID SessionConfigID `json:"configId"`
	Type     string          `json:"type,omitzero"`
	Value    json.RawMessage `json:"value"`
	Meta     json.RawMessage `json:"_meta,omitzero"`
}

// SetSessionConfigOptionResponse: Response to `session/set_config_option` method.
type SetSessionConfigOptionResponse struct {
	// The full set of configuration options and their current values.
	ConfigOptions []SessionConfigOption `json:"configOptions"`
	Meta          json.RawMessage       `json:"_meta,omitzero"`
}

// MarshalJSON writes required lists as [], never null.
func (v SetSessionConfigOptionResponse) MarshalJSON() ([]byte, error) {
	type plain SetSessionConfigOptionResponse
	v.ConfigOptions = list(v.ConfigOptions)
	return marshal(plain(v))
}

// SetSessionModeRequest: Request parameters for setting a session mode.
type SetSessionModeRequest struct {
	// The ID of the session to set the mode for.
	SessionID SessionID `json:"sessionId"`
	// The ID of the mode to set.
	ModeID SessionModeID   `json:"modeId"`
	Meta   json.RawMessage `json:"_meta,omitzero"`
}

// SetSessionModeResponse: Response to `session/set_mode` method.
type SetSessionModeResponse struct {
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// StopReason: Reasons why an agent stops processing a prompt turn.
type StopReason string

const (
	// The turn ended successfully.
	StopEndTurn StopReason = "end_turn"
	// The turn ended because the agent reached the maximum number of tokens.
	StopMaxTokens StopReason = "max_tokens"
	// The turn ended because the agent reached the maximum number of allowed agent requests
	// between user turns.
	StopMaxTurnRequests StopReason = "max_turn_requests"
	// The turn ended because the agent refused to continue. The user prompt and everything that
	// comes after it won't be included in the next prompt, so this should be reflected in the
	// UI.
	StopRefusal StopReason = "refusal"
	// The turn was cancelled by the client via `session/cancel`.
	StopCancelled StopReason = "cancelled"
)

// StringFormat: String format types for string properties in elicitation schemas.
type StringFormat string

const (
	// Email address format.
	FormatEmail StringFormat = "email"
	// URI format.
	FormatURI StringFormat = "uri"
	// Date format (YYYY-MM-DD).
	FormatDate StringFormat = "date"
	// Date-time format (ISO 8601).
	FormatDateTime StringFormat = "date-time"
)

// StringMultiSelectItems: String item schema for multi-select enum properties.
type StringMultiSelectItems struct {
	// Allowed enum values.
	Enum []string        `json:"enum"`
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// MarshalJSON writes required lists as [], never null.
func (v StringMultiSelectItems) MarshalJSON() ([]byte, error) {
	type plain StringMultiSelectItems
	v.Enum = list(v.Enum)
	return marshal(plain(v))
}

// StringPropertySchema: Schema for string properties in an elicitation form.
type StringPropertySchema struct {
	// Optional title for the property.
	Title string `json:"title,omitzero"`
	// Human-readable description.
	Description string `json:"description,omitzero"`
	// Minimum string length.
	MinLength *int64 `json:"minLength,omitzero"`
	// Maximum string length.
	MaxLength *int64 `json:"maxLength,omitzero"`
	// Pattern the string must match.
	Pattern string `json:"pattern,omitzero"`
	// String format.
	Format StringFormat `json:"format,omitzero"`
	// Default value.
	Default *string `json:"default,omitzero"`
	// Enum values for untitled single-select enums. Optional. Omitted and `null` are equivalent
	// and mean no untitled single-select choices are declared by `enum`.
	Enum []string `json:"enum,omitzero"`
	// Titled enum options for titled single-select enums. Optional. Omitted and `null` are
	// equivalent and mean no titled single-select choices are declared by `oneOf`.
	OneOf []EnumOption    `json:"oneOf,omitzero"`
	Meta  json.RawMessage `json:"_meta,omitzero"`
}

// Terminal: Embed a terminal created with `terminal/create` by its id.
type Terminal struct {
	// Identifier of the terminal instance to embed in the content stream.
	TerminalID TerminalID      `json:"terminalId"`
	Meta       json.RawMessage `json:"_meta,omitzero"`
}

// TerminalExitStatus: Exit status of a terminal command.
type TerminalExitStatus struct {
	// The process exit code (may be null if terminated by signal).
	ExitCode *int64 `json:"exitCode,omitzero"`
	// The signal that terminated the process (may be null if exited normally).
	Signal string          `json:"signal,omitzero"`
	Meta   json.RawMessage `json:"_meta,omitzero"`
}

// TerminalID: Typed identifier used for terminal values on the wire.
type TerminalID = string

// TerminalOutputRequest: Request to get the current output and status of a terminal.
type TerminalOutputRequest struct {
	// The session ID for this request.
	SessionID SessionID `json:"sessionId"`
	// The ID of the terminal to get output from.
	TerminalID TerminalID      `json:"terminalId"`
	Meta       json.RawMessage `json:"_meta,omitzero"`
}

// TerminalOutputResponse: Response containing the terminal output and exit status.
type TerminalOutputResponse struct {
	// The terminal output captured so far.
	Output string `json:"output"`
	// Whether the output was truncated due to byte limits.
	Truncated bool `json:"truncated"`
	// Exit status if the command has completed.
	ExitStatus *TerminalExitStatus `json:"exitStatus,omitzero"`
	Meta       json.RawMessage     `json:"_meta,omitzero"`
}

// TextContent: Text provided to or from an LLM.
type TextContent struct {
	// Optional annotations that help clients decide how to display or route this content.
	Annotations *Annotations `json:"annotations,omitzero"`
	// Text payload carried by this content block.
	Text string          `json:"text"`
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// TitledMultiSelectItems: Items definition for titled multi-select enum properties.
type TitledMultiSelectItems struct {
	// Titled enum options.
	AnyOf []EnumOption    `json:"anyOf"`
	Meta  json.RawMessage `json:"_meta,omitzero"`
}

// MarshalJSON writes required lists as [], never null.
func (v TitledMultiSelectItems) MarshalJSON() ([]byte, error) {
	type plain TitledMultiSelectItems
	v.AnyOf = list(v.AnyOf)
	return marshal(plain(v))
}

// ToolCall: Represents a tool call that the language model has requested.
type ToolCall struct {
	// Unique identifier for this tool call within the session.
	ToolCallID ToolCallID `json:"toolCallId"`
	// Human-readable title describing what the tool is doing.
	Title string `json:"title"`
	// Programmatic name of the tool being invoked.
	Name string `json:"name,omitzero"`
	// The category of tool being invoked. Helps clients choose appropriate icons and UI
	// treatment.
	Kind ToolKind `json:"kind,omitzero"`
	// Current execution status of the tool call.
	Status ToolCallStatus `json:"status,omitzero"`
	// Content produced by the tool call.
	Content []ToolCallContent `json:"content,omitzero"`
	// File locations affected by this tool call. Enables "follow-along" features in clients.
	Locations []ToolCallLocation `json:"locations,omitzero"`
	// Raw input parameters sent to the tool.
	RawInput json.RawMessage `json:"rawInput,omitzero"`
	// Raw output returned by the tool.
	RawOutput json.RawMessage `json:"rawOutput,omitzero"`
	Meta      json.RawMessage `json:"_meta,omitzero"`
}

// ToolCallContent: Content produced by a tool call.
//
// One of the pointers is set, or Raw for a variant that is unknown here.
type ToolCallContent struct {
	Kind     string // the member "type" of the JSON
	Content  *Content
	Diff     *Diff
	Terminal *Terminal
	Raw      json.RawMessage
}

// Kinds of ToolCallContent.
const (
	ToolContent  = "content"
	ToolDiff     = "diff"
	ToolTerminal = "terminal"
)

func (u ToolCallContent) variant() (kind string, v any) {
	switch {
	case u.Content != nil:
		return "content", u.Content
	case u.Diff != nil:
		return "diff", u.Diff
	case u.Terminal != nil:
		return "terminal", u.Terminal
	}
	return u.Kind, nil
}

// MarshalJSON implements json.Marshaler.
func (u ToolCallContent) MarshalJSON() ([]byte, error) {
	kind, v := u.variant()
	return marshalUnion("type", kind, v, u.Raw)
}

// UnmarshalJSON implements json.Unmarshaler.
func (u *ToolCallContent) UnmarshalJSON(b []byte) error {
	kind, err := kindOf(b, "type")
	if err != nil {
		return err
	}
	*u = ToolCallContent{Kind: kind}
	switch kind {
	case "content":
		u.Content = new(Content)
		return json.Unmarshal(b, u.Content)
	case "diff":
		u.Diff = new(Diff)
		return json.Unmarshal(b, u.Diff)
	case "terminal":
		u.Terminal = new(Terminal)
		return json.Unmarshal(b, u.Terminal)
	}
	u.Raw = append(u.Raw, b...)
	return nil
}

// ToolCallID: Unique identifier for a tool call within a session.
type ToolCallID = string

// ToolCallLocation: A file location being accessed or modified by a tool.
type ToolCallLocation struct {
	// The absolute file path being accessed or modified.
	Path string `json:"path"`
	// Optional 1-based line number within the file.
	Line uint32          `json:"line,omitzero"`
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// ToolCallStatus: Execution status of a tool call.
type ToolCallStatus string

const (
	// The tool call hasn't started running yet because the input is either streaming or we're
	// awaiting approval.
	StatusPending ToolCallStatus = "pending"
	// The tool call is currently running.
	StatusInProgress ToolCallStatus = "in_progress"
	// The tool call completed successfully.
	StatusCompleted ToolCallStatus = "completed"
	// The tool call failed with an error.
	StatusFailed ToolCallStatus = "failed"
)

// ToolCallUpdate: An update to an existing tool call.
type ToolCallUpdate struct {
	// The ID of the tool call being updated.
	ToolCallID ToolCallID `json:"toolCallId"`
	// Update the tool kind.
	Kind ToolKind `json:"kind,omitzero"`
	// Update the execution status.
	Status ToolCallStatus `json:"status,omitzero"`
	// Update the human-readable title.
	Title string `json:"title,omitzero"`
	// Update the programmatic name of the tool being invoked.
	Name string `json:"name,omitzero"`
	// Replace the content collection.
	Content []ToolCallContent `json:"content,omitzero"`
	// Replace the locations collection.
	Locations []ToolCallLocation `json:"locations,omitzero"`
	// Update the raw input.
	RawInput json.RawMessage `json:"rawInput,omitzero"`
	// Update the raw output.
	RawOutput json.RawMessage `json:"rawOutput,omitzero"`
	Meta      json.RawMessage `json:"_meta,omitzero"`
}

// ToolKind: Categories of tools that can be invoked.
type ToolKind string

const (
	// Reading files or data.
	KindRead ToolKind = "read"
	// Modifying files or content.
	KindEdit ToolKind = "edit"
	// Removing files or data.
	KindDelete ToolKind = "delete"
	// Moving or renaming files.
	KindMove ToolKind = "move"
	// Searching for information.
	KindSearch ToolKind = "search"
	// Running commands or code.
	KindExecute ToolKind = "execute"
	// Internal reasoning or planning.
	KindThink ToolKind = "think"
	// Retrieving external data.
	KindFetch ToolKind = "fetch"
	// Switching the current session mode.
	KindSwitchMode ToolKind = "switch_mode"
	// Other tool types (default).
	KindOther ToolKind = "other"
)

// UsageUpdate: Context window and cost update for a session.
type UsageUpdate struct {
	// Tokens currently in context.
	Used int64 `json:"used"`
	// Total context window size in tokens.
	Size int64 `json:"size"`
	// Cumulative session cost (optional).
	Cost *Cost           `json:"cost,omitzero"`
	Meta json.RawMessage `json:"_meta,omitzero"`
}

// WaitForTerminalExitRequest: Request to wait for a terminal command to exit.
type WaitForTerminalExitRequest struct {
	// The session ID for this request.
	SessionID SessionID `json:"sessionId"`
	// The ID of the terminal to wait for.
	TerminalID TerminalID      `json:"terminalId"`
	Meta       json.RawMessage `json:"_meta,omitzero"`
}

// WaitForTerminalExitResponse: Response containing the exit status of a terminal command.
type WaitForTerminalExitResponse struct {
	// The process exit code (may be null if terminated by signal).
	ExitCode *int64 `json:"exitCode,omitzero"`
	// The signal that terminated the process (may be null if exited normally).
	Signal string          `json:"signal,omitzero"`
	Meta   json.RawMessage `json:"_meta,omitzero"`
}

// WriteTextFileRequest: Request to write content to a text file.
type WriteTextFileRequest struct {
	// The session ID for this request.
	SessionID SessionID `json:"sessionId"`
	// Absolute path to the file to write.
	Path string `json:"path"`
	// The text content to write to the file.
	Content string          `json:"content"`
	Meta    json.RawMessage `json:"_meta,omitzero"`
}

// WriteTextFileResponse: Response to `fs/write_text_file`
type WriteTextFileResponse struct {
	Meta json.RawMessage `json:"_meta,omitzero"`
}
