/** Determines the IP addresses to which webhooks may be sent. */
import { networkInterfaces } from 'node:os';
import ipaddr from 'ipaddr.js';
import { isInNetworks, type Network, parseNetwork, unmapAddress } from '../domain/address.ts';

/** Global unicast, the only IPv6 range with public addresses (RFC 4291 section 2.4). */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');
/**
 * The last 32 bits of an address in this range are the IPv4 address that a gateway connects to (RFC 6052 section 2.1).
 */
const nat64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
/** A public IPv4 address that serves metadata to all Azure virtual machines. */
const azureMetadata = '168.63.129.16';

/** Descriptions of the address ranges that `ipaddr.js` distinguishes. All other ranges are reserved. */
const rangeDescriptions: Readonly<Record<string, string>> = {
  unspecified: 'unspecified',
  broadcast: 'broadcast',
  multicast: 'multicast',
  linkLocal: 'link-local',
  loopback: 'loopback',
  carrierGradeNat: 'carrier-grade NAT',
  private: 'private',
  uniqueLocal: 'private',
};

/**
 * Returns the reason why an address is not allowed, such as `loopback`. Returns undefined for public addresses except
 * `own`, and for addresses in allowed networks. IPv4-mapped and NAT64 addresses are classified by their IPv4 address.
 */
export function disallowedReason(
  address: string,
  allowed: readonly Network[],
  own: readonly Network[],
): string | undefined {
  if (isAllowed(address, allowed)) return undefined;
  const reached = effectiveAddress(address);
  if (reached === undefined) return 'not an IP address';
  return specialRange(reached) ?? (isInNetworks(reached, own) ? "this machine's own" : undefined);
}

/**
 * The addresses of this machine's network interfaces. What listens on them may trust this machine. Empty if a sandbox does
 * not allow reading them, which Linux does through netlink sockets.
 */
export function localAddresses(read = networkInterfaces): readonly Network[] {
  try {
    return Object.values(read())
      .flatMap((interfaces = []) => interfaces.map(({ address }) => parseNetwork(address)))
      .filter((network) => network !== undefined);
  } catch {
    return [];
  }
}

/** Whether the allowed networks contain the address, or the IPv4 address of an IPv4-mapped address. */
export function isAllowed(address: string, allowed: readonly Network[]): boolean {
  return isInNetworks(unmapAddress(address) ?? address, allowed);
}

/**
 * Returns the IPv4 address embedded in an IPv4-mapped or NAT64 address, and any other address unchanged. Undefined for
 * other text.
 */
function effectiveAddress(text: string): string | undefined {
  const address = unmapAddress(text);
  if (address === undefined) return undefined;
  const parsed = ipaddr.parse(address);
  if (!(parsed instanceof ipaddr.IPv6 && parsed.match(nat64))) return address;
  return ipaddr.fromByteArray(parsed.toByteArray().slice(12)).toString();
}

/** The name of the range, or undefined if the address is public. */
function specialRange(address: string): string | undefined {
  if (address === azureMetadata) return 'metadata';
  const parsed = ipaddr.parse(address);
  const range = parsed.range();
  const isUnicast = parsed instanceof ipaddr.IPv6 ? parsed.match(globalUnicast) : true;
  return isUnicast && range === 'unicast' ? undefined : (rangeDescriptions[range] ?? 'reserved');
}
