import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { maxWaitSeconds } from '../../src/contract/events.ts';
import { root } from '../support/process.ts';

test('the HAProxy server timeout is longer than the longest wait for events', () => {
  const text = readFileSync(join(root, 'deploy/haproxy.cfg'), 'utf8');
  const seconds = /timeout server (\d+)s/.exec(text)?.[1];
  expect(Number(seconds)).toBeGreaterThan(maxWaitSeconds);
});
