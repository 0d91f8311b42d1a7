import { expect, test } from 'bun:test';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type ErrorCode, errors } from '../../src/contract/errors.ts';
import { maxWaitSeconds } from '../../src/contract/events.ts';
import { root } from '../support/process.ts';

test('the HAProxy server timeout is longer than the longest wait for events', () => {
  const text = readFileSync(join(root, 'deploy/haproxy.cfg'), 'utf8');
  const seconds = /timeout server (\d+)s/.exec(text)?.[1];
  expect(Number(seconds)).toBeGreaterThan(maxWaitSeconds);
});

test('HAProxy keeps idle connections open for longer than a request head may take', () => {
  const text = readFileSync(join(root, 'deploy/haproxy.cfg'), 'utf8');
  const secondsOf = (name: string) => Number(new RegExp(`timeout ${name} (\\d+)s`).exec(text)?.[1]);
  expect(secondsOf('http-keep-alive')).toBeGreaterThan(secondsOf('http-request'));
});

test.each(['nginx.conf', 'haproxy.cfg'])(
  'every error in %s has a code of the contract, and its status',
  (file) => {
    const text = readFileSync(join(root, 'deploy', file), 'utf8');
    const bodies = [...text.matchAll(/'(\{"code".*?\})'/g)].map(([, body = '']) => JSON.parse(body));
    expect(bodies.length).toBeGreaterThan(5);
    for (const { code, message, status } of bodies as {
      code: ErrorCode;
      message: string;
      status: number;
    }[]) {
      expect([code, status]).toEqual([code, errors[code].status]);
      const isGeneral = !['invalid_parameter', 'service_unavailable', 'internal_error'].includes(code);
      if (isGeneral) expect(message).toBe(errors[code].message);
    }
  },
);
