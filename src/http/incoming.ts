import type { StreamSource } from '../contract/operation.ts';
import { type Network, networkOf } from '../domain/address.ts';
import type { BusyConnections } from './listener/busy-connections.ts';
import { connectionOf, type FreeBudget } from './listener/free-budget.ts';
import { streamOf } from './listener/stream.ts';
import type { IncomingRequest } from './pipeline/context.ts';
import { clientAddress, requestIdOf } from './pipeline/head.ts';
import type { Route, RoutedOperation } from './pipeline/routes.ts';

type Server = Bun.Server<undefined>;
export type BunRequest = Request & { readonly params?: Record<string, string> };

/** Shared by all requests of a listener. */
export interface ListenerContext {
  readonly makeRequestId: () => string;
  readonly trustedProxies: readonly Network[];
  readonly freeResponses: FreeBudget;
  readonly busy: BusyConnections;
}

const noParams = {};

/** This is a class because an object literal would create new functions for each request. */
export class Incoming implements IncomingRequest {
  readonly request: BunRequest;
  readonly route: Route | undefined;
  readonly routed: RoutedOperation | undefined;
  readonly path: Readonly<Record<string, string>>;
  readonly requestId: string;
  readonly startedAt = performance.now();
  readonly #server: Server;
  readonly #listener: ListenerContext;

  constructor(request: BunRequest, server: Server, listener: ListenerContext, route?: Route) {
    this.request = request;
    this.route = route;
    this.routed = route?.methods.get(request.method);
    this.path = request.params ?? noParams;
    this.requestId = requestIdOf(request, listener.makeRequestId);
    this.#server = server;
    this.#listener = listener;
  }

  client(): string {
    const peer = this.#server.requestIP(this.request)?.address ?? '';
    const forwardedFor = this.request.headers.get('x-forwarded-for');
    return clientAddress(peer, forwardedFor, this.#listener.trustedProxies);
  }

  network(): string {
    return networkOf(this.client());
  }

  countFree(): boolean {
    return this.#listener.freeResponses.take(connectionOf(this.request, this.#server)) > 0;
  }

  keep(): void {
    this.#listener.busy.keep(this.request, this.#server);
  }

  streamed(source: StreamSource): ReadableStream {
    return streamOf(source, this.request, this.#server, this.#listener.busy);
  }
}
