# frozen_string_literal: true

# As unicorn does: a process starts its own program anew, which goes on with the listening socket.
class ReExec < Act
  PROGRAM = 'require "socket"; s = TCPServer.for_fd(Integer(ARGV[0])); c = s.accept; c.write("new program: #{c.gets}"); c.close'

  def call
    server = TCPServer.new("127.0.0.1", 0)
    server.close_on_exec = false
    pid = fork { exec(RbConfig.ruby, "--disable=gems", "-W0", "-e", PROGRAM, server.fileno.to_s, server => server) }
    client = TCPSocket.new("127.0.0.1", server.addr[1])
    client.write("hello #{@number}\n")
    said = line_of(client)
    [client, server].each(&:close)
    "#{said&.strip}, #{ending_of(pid)}"
  end
end
