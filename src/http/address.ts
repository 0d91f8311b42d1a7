import { type BlockList, isIP } from 'node:net';

/**
 * The address a request is counted against: an IPv4 address, or the /64 network of an IPv6 one, for a subscriber
 * has at least that many. `X-Forwarded-For` is followed from its right end only through trusted proxies.
 */
export function clientNetwork(
  peer: string,
  forwardedFor: string | null,
  trusted: BlockList | undefined,
): string {
  let address = unmapped(peer);
  if (trusted !== undefined && forwardedFor !== null) {
    for (const hop of forwardedFor.split(',').reverse()) {
      const candidate = unmapped(hop.trim());
      if (!isTrusted(address, trusted) || isIP(candidate) === 0) break;
      address = candidate;
    }
  }
  return isIP(address) === 6 ? network64(address) : address;
}

function isTrusted(address: string, trusted: BlockList): boolean {
  return trusted.check(address, isIP(address) === 6 ? 'ipv6' : 'ipv4');
}

/** An IPv4 address in IPv6 clothes (RFC 4291 section 2.5.5.2) is that IPv4 address. */
function unmapped(address: string): string {
  const plain = address.replace(/^::ffff:/i, '');
  return isIP(plain) === 4 ? plain : address;
}

/** The first four of the eight groups, with the omitted ones filled in. */
function network64(address: string): string {
  const [head, tail] = address.replace(/%.*$/, '').split('::');
  const groups = head ? head.split(':') : [];
  const end = tail ? tail.split(':') : [];
  const omitted = tail === undefined ? 0 : 8 - groups.length - end.length;
  const all = [...groups, ...Array<string>(Math.max(0, omitted)).fill('0'), ...end];
  return `${all
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':')}::/64`;
}
