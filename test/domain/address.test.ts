import { expect, test } from 'bun:test';
import { isIP } from 'node:net';
import fc from 'fast-check';
import { formatPeer, isInNetworks, parseNetwork, toNetwork, unmapAddress } from '../../src/domain/address.ts';
import { always } from '../support/property.ts';

const groups = fc.array(fc.integer({ min: 0, max: 0xffff }), { minLength: 8, maxLength: 8 });

test('a string is parsed as an address if and only if the runtime accepts it as one', () => {
  const mapped = fc.ipV4().map((address) => `::ffff:${address}`);
  const zoned = fc.ipV6().map((address) => `${address}%eth0`);
  always(fc.oneof(fc.ipV4(), fc.ipV6(), mapped, zoned, fc.string()), (text) => {
    const address = unmapAddress(text);
    expect(address !== undefined).toBe(isIP(text) !== 0);
    if (address === undefined) return;
    expect(unmapAddress(address)).toBe(address);
    expect(toNetwork(address)).toMatch(isIP(address) === 4 ? /^[\d.]+$/ : /^(?:[\da-f]{1,4}:){4}:\/64$/);
  });
});

test('IPv6 addresses belong to the same network if and only if they share a /64 prefix', () => {
  always(fc.tuple(groups, groups), ([one, other]) => {
    fc.pre(one.slice(0, 5).some((group) => group !== 0));
    const text = (parts: number[]) => parts.map((part) => part.toString(16).padStart(4, '0')).join(':');
    const network = (parts: number[]) => toNetwork(unmapAddress(text(parts)) ?? '');
    const same = [...one.slice(0, 4), ...other.slice(4)];
    fc.pre(same.slice(0, 5).some((group) => group !== 0));
    expect(network(same)).toBe(network(one));
    const [first = 0, ...rest] = one;
    expect(network([first ^ 1, ...rest])).not.toBe(network(one));
  });
});

test('an IPv4-mapped IPv6 address equals the IPv4 address', () => {
  always(fc.tuple(fc.ipV4(), fc.boolean()), ([address, hexadecimal]) => {
    const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
    const tail = hexadecimal ? `${(a * 256 + b).toString(16)}:${(c * 256 + d).toString(16)}` : address;
    expect(unmapAddress(`::ffff:${tail}`)).toBe(address);
  });
});

test.each([
  ['10.0.0.0/8', ['10.0.0.0', '10.255.255.255'], ['9.255.255.255', '11.0.0.0', '::1', 'a00::1', '']],
  ['10.1.2.3/8', ['10.0.0.1'], ['11.1.2.3']],
  ['10.0.0.7', ['10.0.0.7'], ['10.0.0.6', '10.0.0.8']],
  ['0.0.0.0/0', ['0.0.0.0', '255.255.255.255'], ['::1']],
  ['::ffff:10.0.0.0/104', ['10.0.0.0', '10.255.255.255'], ['11.0.0.0', '::a00:1']],
  ['2001:db8::/33', ['2001:db8:7fff::1'], ['2001:db8:8000::', '2001:db7::1']],
  ['::/0', ['::1', '2001:db8::1'], ['10.0.0.1']],
])('the network %s contains %p but not %p', (text, within, without) => {
  const networks = [parseNetwork(text) ?? expect.unreachable()];
  for (const address of within) expect(isInNetworks(address, networks)).toBe(true);
  for (const address of without) expect(isInNetworks(address, networks)).toBe(false);
});

test.each([
  ['127.0.0.1', [127, 0, 0, 1]],
  ['127.0.0.1', [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 127, 0, 0, 1]],
  ['::ffff:127.0.0.1', [127, 0, 0, 1]],
  ['fe80::1%eth0', [0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]],
  ['2001:db8::1', [0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]],
])('the peer address %s is formatted identically from its text and from the bytes %p', (text, bytes) => {
  expect(formatPeer(text, 80)).toBe(formatPeer(new Uint8Array(bytes), 80));
  expect(formatPeer(text, 80)).not.toBe(formatPeer(text, 81));
  expect(formatPeer(text, 80)).not.toBe(formatPeer('127.0.0.2', 80));
});
