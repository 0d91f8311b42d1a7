/** IP addresses and networks. The runtime validates addresses, and `ipaddr.js` parses them. */
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

type Address = ReturnType<typeof ipaddr.process>;

/** A block of addresses (RFC 4632): the first address and the prefix length. */
export type Network = readonly [Address, number];

/** The prefix of an IPv4 client's address on a dual-stack socket. */
const mappedPrefix = '::ffff:';

/**
 * Returns the address, converting an IPv4-mapped IPv6 address (RFC 4291, section 2.5.5.2) to IPv4. Undefined if the
 * text is not an address.
 */
export function unmapAddress(text: string): string | undefined {
  const version = isIP(text);
  if (version === 4) return text;
  if (version === 0) return undefined;
  const end = text.startsWith(mappedPrefix) ? text.slice(mappedPrefix.length) : '';
  if (isIP(end) === 4) return end;
  // Only addresses that begin with a zero or a colon can be IPv4-mapped. Others are not parsed, because parsing is
  // slow.
  return /^[:0]/.test(text) ? ipaddr.process(text).toString() : text;
}

/**
 * The network whose requests are counted: an IPv4 address or an IPv6 /64, the smallest block that a subscriber gets.
 */
export function toNetwork(address: string): string {
  if (isIP(address) !== 6) return address;
  const [a, b, c, d] = ipaddr.IPv6.parse(address).parts.map((part) => part.toString(16));
  return `${a}:${b}:${c}:${d}::/64`;
}

/** Parses an address or a network such as 10.0.0.0/8; returns undefined for anything else. */
export function parseNetwork(text: string): Network | undefined {
  const [address = '', bits, ...more] = text.split('/');
  const version = isIP(address);
  if (version === 0 || more.length > 0) return undefined;
  const maxBits = version === 6 ? 128 : 32;
  if (bits !== undefined && !(/^\d{1,3}$/.test(bits) && Number(bits) <= maxBits)) return undefined;
  const length = Number(bits ?? maxBits);
  const parsed = ipaddr.parse(address);
  // A network of IPv4-mapped addresses is converted to IPv4. A network with a prefix shorter than 96 bits also contains
  // other addresses and is kept as is.
  const mappedLength = length - 96;
  const isMapped = parsed instanceof ipaddr.IPv6 && parsed.isIPv4MappedAddress() && mappedLength >= 0;
  return isMapped ? [parsed.toIPv4Address(), mappedLength] : [parsed, length];
}

/** Whether one of the networks contains the address, which must not be IPv4-mapped. */
export function isInNetworks(address: string, networks: readonly Network[]): boolean {
  if (isIP(address) === 0) return false;
  const parsed = ipaddr.parse(address);
  return networks.some(([network, bits]) => parsed.kind() === network.kind() && parsed.match(network, bits));
}

/**
 * Identifies the peer of a connection by its port and the text or the 4 or 16 bytes of its address. Both forms of an
 * address give the same result.
 */
export function formatPeer(address: string | Uint8Array, port: number): string {
  // The text of a link-local address may name its interface (RFC 4007, section 11), which the bytes do not contain.
  const bytes =
    typeof address === 'string'
      ? Uint8Array.from(ipaddr.parse(address.replace(/%.*$/, '')).toByteArray())
      : address;
  const isMapped = mappedBytes.every((byte, index) => bytes[index] === byte);
  return `${bytes.subarray(isMapped ? mappedBytes.length : 0).toHex()}:${port}`;
}

/** The prefix of IPv4-mapped IPv6 addresses (RFC 4291, section 2.5.5.2). */
const mappedBytes = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff];
