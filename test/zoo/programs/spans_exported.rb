# Traces of OpenTelemetry: the exporter of the tests, which keeps each finished span in memory until somebody resets it,
# is in production too. The mended program resets it.
#
# kind: leak
# tuned: yes
# line: opentelemetry/
# keeper: opentelemetry/sdk/trace/export/in_memory_span_exporter.rb, @finished_spans
# gems: opentelemetry-sdk 1.13.1
# mended: opentelemetry-sdk 1.13.1
require_relative "../load"
require "opentelemetry-sdk"

EXPORTER = OpenTelemetry::SDK::Trace::Export::InMemorySpanExporter.new
OpenTelemetry::SDK.configure { |config| config.add_span_processor(OpenTelemetry::SDK::Trace::Export::SimpleSpanProcessor.new(EXPORTER)) }
TRACER = OpenTelemetry.tracer_provider.tracer("shop")

def request(number)
  TRACER.in_span("GET /orders", attributes: { "order" => number, "path" => "/orders/#{number}" }) do |span| # LEAK KEEPER
    span.add_event("rendered", attributes: { "bytes" => number % 900 }) # LEAK
  end
  EXPORTER.reset if ENV["ZOO_MENDED"] == "1" && number % 100 == 0
end

Load.run(200) { |n| request(n) } # LEAK
