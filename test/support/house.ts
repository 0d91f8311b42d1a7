import pino, { type Logger } from 'pino';
import { answersOf } from '../../src/http/answers.ts';
import { BanLog } from '../../src/http/ban-log.ts';
import { FinishedAnswers } from '../../src/http/finished-answers.ts';
import type { House, Incoming } from '../../src/http/house.ts';
import { Outages } from '../../src/http/outages.ts';
import { routesOf } from '../../src/http/routes.ts';
import { startServer } from '../../src/http/server.ts';
import { AdmissionOperations } from '../../src/operations/admission.ts';
import { PetOperations } from '../../src/operations/pets.ts';
import type { TestApp } from './app.ts';

/** What the pipeline works with, on the store of a running app. */
export function houseOf({ app, clock }: TestApp, log: Logger = pino({ level: 'silent' })): House {
  const { storage } = app.office;
  return {
    admission: new AdmissionOperations(storage.keys, storage.limits, clock),
    answers: answersOf(new PetOperations(storage.pets), undefined),
    finished: new FinishedAnswers(),
    clock,
    publicUrl: undefined,
    corsOrigins: new Set(),
    log,
    outages: new Outages(log),
    requestLog: undefined,
    bans: new BanLog(log),
    makeRequestId: () => 'made',
    isDraining: () => false,
  };
}

const routes = routesOf(undefined, Number.MAX_SAFE_INTEGER);

/** A GET as the server hands it on. */
export function incomingOf(url: string, headers: Readonly<Record<string, string>>): Incoming {
  const { pathname } = new URL(url);
  const route = routes.find(({ path }) => path === pathname);
  return {
    request: new Request(url, { headers }),
    route,
    routed: route?.methods.get('GET'),
    petId: '',
    requestId: headers['X-Request-Id'] ?? 'made',
    client: () => '192.0.2.1',
    network: () => '192.0.2.1',
    startedAt: 0,
  };
}

/** Serves with these parts on a port of its own. */
export function serve(house: House): { readonly url: string } & AsyncDisposable {
  const outside = {
    openapi: () => '{"servers":[]}',
    publicUrl: undefined,
    perMinute: 1_000,
    health: () => [],
  };
  const server = startServer({
    ...{ house, routes, outside, hostname: '127.0.0.1', port: 0, maxConnections: 0 },
    trustedProxies: [],
  });
  return {
    url: `http://127.0.0.1:${server.port}`,
    [Symbol.asyncDispose]: async () => server[Symbol.dispose](),
  };
}
