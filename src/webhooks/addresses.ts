/** Determines the IP addresses to which webhooks may be sent. */
import ipaddr from 'ipaddr.js';
import { isWithin, type Network, unmappedAddress } from '../domain/address.ts';

/** Global unicast, the only IPv6 addresses that are assigned to the public (RFC 4291 section 2.4). */
const globalUnicast = ipaddr.IPv6.parseCIDR('2000::/3');
/** Its last 32 bits are the IPv4 address that a gateway of the network connects to (RFC 6052 section 2.1). */
const nat64 = ipaddr.IPv6.parseCIDR('64:ff9b::/96');
/** A public IPv4 address that serves metadata to every virtual machine of Azure. */
const azureMetadata = '168.63.129.16';

/** Names of the address ranges of `ipaddr.js`. Other ranges are reserved. */
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
 * The reason an address is not public, such as `loopback`; undefined for a public one, and for one in an allowed
 * network. IPv4-mapped and NAT64 addresses are classified by their IPv4 address.
 */
export function reasonAgainst(address: string, allowed: readonly Network[]): string | undefined {
  return isAllowed(address, allowed) ? undefined : rangeOf(address);
}

/** Whether an operator's networks contain the address, or the IPv4 address of a mapped one. */
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
