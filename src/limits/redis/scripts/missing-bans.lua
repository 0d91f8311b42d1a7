-- Returns for each saved ban 1 if Redis lacks it, otherwise 0. Redis does not lack a ban that has ended there.
-- KEYS: clock, penalties of keys
-- ARGV: the end of each ban in Unix seconds, time (see `present`)
local count = #KEYS - 1
local _, shown_by = present(KEYS[1], redis.call('GET', KEYS[1]), count + 1)
local missing = {}
for index = 1, count do
  local _, _, banned = penalty_of(redis.call('GET', KEYS[index + 1]))
  -- End times are rounded to seconds. After a clock step, they cannot be compared with saved ones.
  local isKnown = banned > 0 and (shown_by ~= 0 or banned >= tonumber(ARGV[index]) - 1)
  missing[index] = isKnown and 0 or 1
end
return missing
