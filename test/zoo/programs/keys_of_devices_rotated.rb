# A gateway checks the signed messages of devices by a MessageVerifier of Active Support. A device that signs in brings the key that it
# had before, and the gateway adds it to its only verifier as one more rotation, where the verifier of that device was meant.
#
# kind: leak
# line: active_support/messages, active_support/message_verifier
# keeper: @rotations, VERIFIER, rotator
# gems: activesupport 8.0.2
# rate: 340000
require_relative "../load"
require "active_support"
require "active_support/message_verifier"

SECRET = "the gateway's own secret, of many characters ".ljust(96, "x")
VERIFIER = ActiveSupport::MessageVerifier.new(SECRET, digest: "SHA256", serializer: JSON)

class Device
  def initialize(number) = @number = number

  def sign_in = VERIFIER.rotate(former_key) # LEAK KEEPER

  def message(second)
    VERIFIER.generate({ device: @number, at: second, values: Array.new(30) { |i| ["sensor #{i}", (@number * i) % 4_000] }.to_h })
  end

  private

  def former_key = "-----BEGIN KEY-----\n#{"#{@number.to_s(36)}Zk9" * 130}"[0, 600] # LEAK
end

Load.run(260) do |n|
  device = Device.new(n)
  device.sign_in # LEAK
  18.times { |i| VERIFIER.verify(device.message(i)) }
end
