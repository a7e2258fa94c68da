-- For wrk: one ticket after the other.
local id = 0

request = function()
  id = id % 200 + 1
  return wrk.format("GET", "/tickets/" .. id)
end
