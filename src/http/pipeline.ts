import { type Awaitable, andThen } from '../domain/awaitable.ts';
import { Refusal } from '../domain/refusal.ts';
import type { Authenticated, Unauthenticated } from '../operations/admission.ts';
import { type Answer, answerOf, notModified } from './answers.ts';
import { isNotModified } from './conditions.ts';
import { isPreflight } from './cors.ts';
import { credentialOf } from './credential.ts';
import { readInput } from './input.ts';
import { onceOf } from './once.ts';
import { targetOf } from './query.ts';
import { failed, preflight, refuse, reply } from './replies.ts';
import type { IncomingRequest, RequestContext } from './request-context.ts';
import type { RoutedOperation } from './routes.ts';

/** Every request under the version goes this way, in the contract's order of checks (section 2). */
export async function pipeline(context: RequestContext, incoming: IncomingRequest): Promise<Response> {
  const { request, route, routed, network } = incoming;
  let admission: Authenticated | Unauthenticated | undefined;
  try {
    if (isPreflight(request, context.corsOrigins)) return await preflight(context, incoming);

    const isFree = routed?.operation.free ?? false;
    // What is here at once is not awaited (see `andThen`).
    const admitted = context.admission.admit(credentialOf(request.headers), network, isFree);
    admission = admitted instanceof Promise ? await admitted : admitted;
    if (admission.caller === undefined) throw new Refusal(admission.refusal);
    const { refusal } = admission.verdict;
    if (refusal !== undefined && !isFree) throw new Refusal(refusal);

    if (route === undefined) throw new Refusal('route_not_found');
    if (routed === undefined) throw new Refusal('method_not_allowed');
    if (routed.removedAt !== undefined && context.clock.now() >= routed.removedAt)
      throw new Refusal('operation_removed');
    const { scope } = routed.operation;
    if (scope !== undefined && !admission.caller.scopes.has(scope)) throw new Refusal('insufficient_scope');

    const made = answerTo(context, incoming, routed, admission);
    return reply(context, incoming, admission, made instanceof Promise ? await made : made);
  } catch (error) {
    try {
      return await refuse(context, incoming, admission, error);
    } catch (again) {
      // The limits cannot be read either. A 503 stays one, with what it says of whether the request was applied.
      const isUnavailable = error instanceof Refusal && error.code === 'service_unavailable';
      return failed(context, incoming.requestId, isUnavailable ? error : again);
    }
  }
}

/** The answer of the operation, or the one that is held of it. */
function answerTo(
  context: RequestContext,
  { request, path }: IncomingRequest,
  { operation }: RoutedOperation,
  admission: Authenticated,
): Awaitable<Answer> {
  const { headers, method } = request;
  const target = targetOf(request.url);
  const shown = (answer: Answer) =>
    (method === 'GET' || method === 'HEAD') && isNotModified(headers, answer.etag)
      ? notModified(answer)
      : answer;
  const held = context.pageCache.get(operation, target, admission.versions);
  if (held !== undefined) return shown(held);
  return andThen(readInput(operation, request, path), (read) => {
    const once = onceOf(read, method, target, admission);
    const performed = context.operations.perform(operation, { ...read, once, admission });
    return andThen(performed, (result) => {
      const answer = answerOf(operation, read.input.query, result, context.publicUrl);
      context.pageCache.keep(operation, target, admission.versions, answer);
      return shown(answer);
    });
  });
}
