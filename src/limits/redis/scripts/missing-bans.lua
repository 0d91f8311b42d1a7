-- Returns for each saved ban 1 if Redis lacks it, otherwise 0. Redis does not lack a ban that has ended there.
-- KEYS: clock, penalties of keys
-- ARGV: the end of each ban in Unix seconds and its level, time (see `present`)
local count = #KEYS - 1
local _, shown_by = present(KEYS[1], redis.call('GET', KEYS[1]), 2 * count + 1)
local missing = {}
for index = 1, count do
  local _, _, banned, level = penalty_of(redis.call('GET', KEYS[index + 1]))
  local saved_end, saved_level = tonumber(ARGV[2 * index - 1]) - shown_by, tonumber(ARGV[2 * index])
  missing[index] = is_later_ban(saved_end, saved_level, banned, level) and 1 or 0
end
return missing
