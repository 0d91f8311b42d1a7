-- Raises versions, to what they never were before, not even on a primary that was lost.
-- KEYS: versions
for _, key in ipairs(KEYS) do
  local risen = version(key, redis.call('GET', key)) + 1
  redis.call('SET', key, text(math.max(risen, micros())))
end
return 1
