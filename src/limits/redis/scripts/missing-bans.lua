-- Returns two numbers for each saved ban: the end of the key's last ban in Unix seconds and its level if the saved ban begins
-- in the future; otherwise 1 if Redis lacks the ban, or 0, and the level. Redis does not lack a ban that has ended there.
-- KEYS: clock, penalties of keys
-- ARGV: the end of each ban in Unix seconds and its level, time (see `present`)
local count = #KEYS - 1
local now, shown_by = present(KEYS[1], redis.call('GET', KEYS[1]), 2 * count + 1)
local missing = {}
for index = 1, count do
  local _, _, banned, level = penalty_of(redis.call('GET', KEYS[index + 1]))
  local saved_end, saved_level = tonumber(ARGV[2 * index - 1]) - shown_by, tonumber(ARGV[2 * index])
  if is_later_ban(saved_end, saved_level, banned, level, now) then
    missing[2 * index - 1] = 1
  else
    missing[2 * index - 1] = begins_later(saved_end, saved_level, now) and banned + shown_by or 0
  end
  missing[2 * index] = level
end
return missing
