-- Writes, to find out whether Redis lets it: a replica does not, nor one whose memory is full.
-- KEYS: any
redis.call('SET', KEYS[1], '1', 'PX', '60000')
return 1
