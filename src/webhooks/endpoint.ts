/** Validates and resolves a webhook's URL, both when a client sets the URL and before every request. */
import { isIP } from 'node:net';
import type { Network } from '../domain/address.ts';
import { parseEndpoint } from '../domain/endpoint.ts';
import { disallowedReason, isAllowed, localAddresses } from './addresses.ts';

/** Resolves a host name to all of its addresses. Rejects or returns an empty list if the name has no address. */
export type Resolve = (hostname: string) => Promise<readonly string[]>;

export interface NetworkPolicy {
  readonly resolve: Resolve;
  /** Networks in WEBHOOK_ALLOWED_NETWORKS, which are allowed even if they are not public or the URL uses http. */
  readonly allowed: readonly Network[];
}

/** A host name that resolves to a private address. */
export interface PrivateAddress {
  readonly host: string;
  readonly address: string;
  readonly reason: string;
}

/**
 * Returns what is wrong with a webhook's URL ("must be …"), or undefined if the URL is valid. `onPrivateAddress`
 * receives the internal address, which the message omits.
 */
export async function checkEndpoint(
  text: string,
  routes: NetworkPolicy,
  onPrivateAddress?: (privateAddress: PrivateAddress) => void,
): Promise<string | undefined> {
  const url = parseEndpoint(text);
  if (typeof url === 'string') return url;
  const located = await resolveHost(url, routes);
  if ('addresses' in located) return undefined;
  if (located.privateAddress !== undefined) onPrivateAddress?.(located.privateAddress);
  return located.message;
}

type ResolvedHost =
  | { readonly addresses: readonly string[] }
  /** The message for clients begins with a verb ("must …"), and does not contain internal addresses. */
  | { readonly error: 'dns' | 'blocked'; readonly message: string; readonly privateAddress?: PrivateAddress };

/** Resolves the host, and returns its addresses only if all of them are allowed. */
export async function resolveHost(url: URL, { resolve, allowed }: NetworkPolicy): Promise<ResolvedHost> {
  const host = urlHost(url);
  let addresses: readonly string[] = [host];
  if (isIP(host) === 0) {
    try {
      addresses = await resolve(host);
      if (addresses.length === 0) throw new Error('no address');
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      return { error: 'dns', message: `must have a host that can be resolved (${host}: ${code ?? message})` };
    }
  }
  // Read once, because reading takes 40 µs.
  const own = localAddresses();
  for (const address of addresses) {
    const reason = disallowedReason(address, allowed, own);
    if (reason === undefined) continue;
    const rule = 'must resolve to public addresses only';
    if (address === host) return { error: 'blocked', message: `${rule}: ${host} (${reason})` };
    const message = `${rule}: ${host} resolves to an address that is ${reason}`;
    return { error: 'blocked', message, privateAddress: { host, address, reason } };
  }
  if (url.protocol === 'http:' && !addresses.every((address) => isAllowed(address, allowed))) {
    return { error: 'blocked', message: 'must be an https URL' };
  }
  return { addresses };
}

/** The host for resolvers and certificates, without IPv6 brackets or a trailing dot. */
export function urlHost({ hostname }: URL): string {
  return hostname.replace(/^\[(.*)\]$/, '$1').replace(/\.$/, '');
}
