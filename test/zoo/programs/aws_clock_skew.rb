# aws-sdk-core up to 3.241.0 keeps one entry for each URL that it ever asked, path and query included, in
# @endpoint_estimated_skews of Aws::Plugins::Retries::ClockSkew. 3.241.1 does not.
#
# kind: leak
# tuned: yes
# line: retries/clock_skew.rb, uri/
# keeper: retries/clock_skew.rb, @endpoint_estimated_skews
# gems: aws-sdk-core 3.241.0
# mended: aws-sdk-core 3.241.1
require_relative "../load"
require "aws-sdk-core"
require "time"
require "aws-sdk-core/plugins/retry_errors" # autoload
Aws.config[:region] = "us-east-1"
Request = Struct.new(:endpoint)
Response = Struct.new(:headers)
Context = Struct.new(:http_request, :http_response)
SKEW = Aws::Plugins::Retries::ClockSkew.new # what a client's retry plugin calls for each response

def get_object(key)
  uri = URI("https://my-bucket.s3.amazonaws.com/uploads/2026/#{key}.json?versionId=#{key.hash}") # LEAK
  context = Context.new(Request.new(uri), Response.new({ "date" => Time.now.httpdate }))
  SKEW.update_estimated_skew(context) # LEAK KEEPER
  "x" * 2000
end

Load.run(1000) { |n| get_object(n) }
