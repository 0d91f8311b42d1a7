-- Raises versions, to what they never were before, not even on a primary that was lost. One that is not there begins so.
-- KEYS: versions
local raised = 0
for _, key in ipairs(KEYS) do
  local value = redis.call('GET', key)
  if value then
    redis.call('SET', key, text(math.max(tonumber(value) + 1, micros())))
    raised = raised + 1
  end
end
return raised
