# frozen_string_literal: true

# One thing that each gem does with its extension; prints NAME and "right".
require "google/protobuf"
require "google/protobuf/struct_pb"
require "grpc"
require "nokogiri"
require "sqlite3"
require "ffi"

# strlen of the C library.
module C
  extend FFI::Library
  ffi_lib FFI::Library::LIBC
  attach_function :strlen, [:string], :size_t
end

# A call of a method over a socket, with strings as messages.
class Echo
  include GRPC::GenericService

  self.marshal_class_method = self.unmarshal_class_method = :itself
  self.service_name = "echo"
  rpc :Say, String, String
  def say(text, _call) = text.reverse
end

def String.itself(text) = text

def say_over_grpc
  server = GRPC::RpcServer.new(pool_size: 1)
  port = server.add_http2_port("127.0.0.1:0", :this_port_is_insecure)
  server.handle(Echo)
  thread = Thread.new { server.run }
  server.wait_till_running
  Echo.rpc_stub_class.new("127.0.0.1:#{port}", :this_channel_is_insecure).say("leak")
ensure
  server&.stop
  thread&.join
end

struct = Google::Protobuf::Struct.new(fields: {"a" => Google::Protobuf::Value.new(number_value: 3)})
database = SQLite3::Database.new(":memory:").tap { |it| it.execute("create table rows (n)") }
1000.times { |number| database.execute("insert into rows values (?)", [number]) }

{
  "ffi" => C.strlen("four") == 4,
  "google-protobuf" => Google::Protobuf::Struct.decode(Google::Protobuf::Struct.encode(struct)).fields["a"].number_value == 3,
  "grpc" => say_over_grpc == "kael",
  "nokogiri" => Nokogiri::HTML5("<ul>#{"<li>x</li>" * 1000}</ul>").css("li").size == 1000,
  "sqlite3" => database.get_first_value("select sum(n) from rows") == 499_500,
}.each { |name, right| puts "#{name} #{right ? "right" : "WRONG"}" }
GC.start
