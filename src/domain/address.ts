/** IP addresses and networks. The runtime decides what is an address; `ipaddr.js` says which one it is. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ReturnType<typeof ipaddr.process>;

/** A block of addresses (RFC 4632), as `within` compares it. */
export type Network = readonly [Address, number];

/** How the system writes an IPv4 client of a socket that takes both versions. */
const mappedPrefix = '::ffff:';

/** The address; an IPv4 address mapped into IPv6 (RFC 4291 section 2.5.5.2) as IPv4. Undefined for what is no address. */
export function unmappedAddress(text: string): string | undefined {
  const version = isIP(text);
  if (version === 4) return text;
  if (version === 0) return undefined;
  const end = text.startsWith(mappedPrefix) ? text.slice(mappedPrefix.length) : '';
  if (isIP(end) === 4) return end;
  // To parse costs microseconds, and a mapped address begins with zeros.
  return /^[:0]/.test(text) ? ipaddr.process(text).toString() : text;
}

/** What requests are counted by: an IPv4 address, or the /64 of an IPv6 one, for a subscriber has at least that many. */
export function networkOf(address: string): string {
  if (isIP(address) !== 6) return address;
  const [a, b, c, d] = ipaddr.IPv6.parse(address).parts.map((part) => part.toString(16));
  return `${a}:${b}:${c}:${d}::/64`;
}

/** Reads an address or a network such as 10.0.0.0/8; undefined for anything else. */
export function parseNetwork(text: string): Network | undefined {
  const [address = '', bits, ...more] = text.split('/');
  const version = isIP(address);
  if (version === 0 || more.length > 0) return undefined;
  const most = version === 6 ? 128 : 32;
  if (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= most)) return undefined;
  const length = Number(bits ?? most);
  const parsed = ipaddr.parse(address);
  // Mapped networks mean the IPv4 addresses in them; a wider one has others as well.
  const mappedLength = length - 96;
  const isMapped = parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress() && mappedLength >= 0;
  return isMapped ? [parsed.toIPv4Address(), mappedLength] : [parsed, length];
}

/** Whether one of the networks has the address, none that is mapped. */
export function isWithin(address: string, networks: readonly Network[]): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  return networks.some(([network, bits]) => parsed.kind() === network.kind() && parsed.match(network, bits));
}
