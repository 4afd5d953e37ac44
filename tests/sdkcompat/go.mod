module varve/tests/sdkcompat

go 1.26.6

require (
	github.com/openai/openai-go/v3 v3.99.0
	varve v0.0.0
)

require (
	github.com/coder/websocket v1.8.15 // indirect
	github.com/go-json-experiment/json v1.27.2 // indirect
	github.com/tidwall/gjson v1.20.3 // indirect
	github.com/tidwall/match v1.1.1 // indirect
	github.com/tidwall/pretty v1.3.0 // indirect
	github.com/tidwall/sjson v1.2.9 // indirect
)

replace varve => ../..
