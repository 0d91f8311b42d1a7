import { isWithin, type Network, unmappedAddress } from '../domain/address.ts';

/**
 * The address of the client behind a connection. `X-Forwarded-For` is followed from its right end only through
 * trusted proxies, to the last address that they vouch for.
 */
export function clientAddress(
  peer: string,
  forwardedFor: string | null,
  trusted: readonly Network[],
): string {
  let address = unmappedAddress(peer) ?? peer;
  if (forwardedFor === null || trusted.length === 0) return address;
  for (const hop of forwardedFor.split(',').reverse()) {
    if (!isWithin(address, trusted)) break;
    const next = unmappedAddress(withoutPort(hop.trim()));
    if (next === undefined) break;
    address = next;
  }
  return address;
}

/** Some proxies name the port as well: `192.0.2.1:4711`, `[2001:db8::1]:4711`. */
function withoutPort(hop: string): string {
  const [, bracketed, plain] = /^(?:\[([^\]]*)\]|([\d.]+))(?::\d{1,5})?$/.exec(hop) ?? [];
  return bracketed ?? plain ?? hop;
}
