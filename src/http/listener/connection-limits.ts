/**
 * How the descriptors of a process are divided: the maximum and current number of each listener's connections, which the
 * runtime does not provide, and the maximum number of requests to webhooks.
 */
import { maxInFlight } from '../../domain/delivery.ts';
import { descriptorLimit, openDescriptors } from './descriptors.ts';
import { listConnections } from './sockets.ts';

export interface ConnectionLimit {
  readonly maxConnections: number;
  readonly open: () => number;
  /** Whether so few descriptors are left for this listener that even authenticated requests must be aborted. */
  readonly isExhausted: () => boolean;
}

/** Default maximum for all processes combined, even if the system allows more connections. */
const defaultMaxConnections = 10_000;
/**
 * Fraction of the free descriptors that connections may use by default. The rest is for the store and outgoing
 * connections.
 */
const defaultShare = 0.6;
/** Limits for requests to webhooks: a fraction of the free descriptors, and a minimum. */
const webhookShare = 0.2;
const minWebhookRequests = 16;
/** Limits for connections to the admin listener: a maximum, a fraction of the free descriptors, and a minimum. */
export const maxAdminConnections = 256;
const adminShare = 0.1;
const minAdminConnections = 16;
/** Counting connections takes longer the more descriptors are open, and may take at most 2 % of the time. */
const countedForMs = 500;
const restPerCount = 50;
/** With fewer free descriptors, connections are closed without waiting for requests in flight. */
const minSpareDescriptors = 8;

/**
 * Limits connections to the public port. The limit applies to open descriptors, including those used for other
 * purposes, except for `outgoing` requests, each of which has at most one connection.
 */
export function clientConnectionLimit(
  maxConnections: number,
  processes: number,
  outgoing: () => number,
): ConnectionLimit {
  const others = openDescriptors() - outgoing();
  // The descriptor limit applies per process. The other limits apply to all processes combined.
  const free = Math.floor((descriptorLimit() - others) * defaultShare);
  const part = Math.floor((maxConnections || defaultMaxConnections) / processes);
  const maxOpen = others + Math.max(1, maxConnections === 0 ? Math.min(part, free) : part);
  const isExhausted = () => openDescriptors() >= descriptorLimit() - minSpareDescriptors;
  return { maxConnections: maxOpen, open: () => openDescriptors() - outgoing(), isExhausted };
}

/** Limits connections to the admin port, so that descriptors remain for clients. */
export function adminConnectionLimit(port: number): ConnectionLimit {
  const others = openDescriptors();
  const share = Math.floor((descriptorLimit() - others) * adminShare);
  const maxOpen = Math.min(maxAdminConnections, Math.max(minAdminConnections, share));
  let counted = { until: Number.NEGATIVE_INFINITY, open: 0 };
  const open = () => {
    // Usually, few descriptors are open, so the connections need not be counted.
    if (openDescriptors() - others < maxOpen) return 0;
    const before = performance.now();
    if (before < counted.until) return counted.open;
    const { length } = listConnections(port);
    const now = performance.now();
    counted = { until: now + Math.max(countedForMs, restPerCount * (now - before)), open: length };
    return length;
  };
  // If clients use all descriptors, closing the few connections of operators does not help.
  return { maxConnections: maxOpen, open, isExhausted: () => false };
}

/** Maximum number of requests to webhooks in flight, so that descriptors remain for clients and the store. */
export function webhookRequestLimit(): number {
  const share = Math.floor((descriptorLimit() - openDescriptors()) * webhookShare);
  return Math.min(maxInFlight.perProcess, Math.max(minWebhookRequests, share));
}
