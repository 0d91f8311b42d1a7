/** Determines the IP addresses to which webhooks may be sent. */
import ipaddr from 'ipaddr.js';
import { isWithin, type Network, unmappedAddress } from '../domain/address.ts';

/** Global unicast, the only IPv6 range with public addresses (RFC 4291 section 2.4). */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');
/**
 * The last 32 bits of an address in this range are the IPv4 address that a gateway connects to (RFC 6052 section 2.1).
 */
const nat64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
/** A public IPv4 address that serves metadata to all Azure virtual machines. */
const azureMetadata = '168.63.129.16';

/** Descriptions of the address ranges that `ipaddr.js` distinguishes. All other ranges are reserved. */
const words: Readonly<Record<string, string>> = {
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
 * Returns the reason why an address is not allowed, such as `loopback`. Returns undefined for public addresses and for
 * addresses in allowed networks. IPv4-mapped and NAT64 addresses are classified by their IPv4 address.
 */
export function reasonAgainst(address: string, allowed: readonly Network[]): string | undefined {
  return isAllowed(address, allowed) ? undefined : rangeOf(address);
}

/** Whether the allowed networks contain the address, or the IPv4 address of an IPv4-mapped address. */
export function isAllowed(address: string, allowed: readonly Network[]): boolean {
  return isWithin(unmappedAddress(address) ?? address, allowed);
}

function rangeOf(text: string): string | undefined {
  const address = unmappedAddress(text);
  if (address === undefined) return 'not an IP address';
  if (address === azureMetadata) return 'metadata';
  const parsed = ipaddr.parse(address);
  if (parsed instanceof ipaddr.IPv6) {
    if (parsed.match(nat64)) return rangeOf(ipaddr.fromByteArray(parsed.toByteArray().slice(12)).toString());
    if (!parsed.match(globalUnicast)) return words[parsed.range()] ?? 'reserved';
  }
  const range = parsed.range();
  return range === 'unicast' ? undefined : (words[range] ?? 'reserved');
}
