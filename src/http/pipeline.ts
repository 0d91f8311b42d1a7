import { andThen } from '../domain/awaitable.ts';
import { Refusal } from '../domain/refusal.ts';
import type { Authenticated, Unauthenticated } from '../operations/admission.ts';
import { isPreflight } from './cors.ts';
import { credentialOf } from './credential.ts';
import { readInput } from './input.ts';
import { targetOf } from './query.ts';
import { failed, preflight, refuse, reply } from './replies.ts';
import type { IncomingRequest, RequestContext } from './request-context.ts';

/** Every request under the version goes this way, in the contract's order of checks (section 2). */
export async function pipeline(context: RequestContext, incoming: IncomingRequest): Promise<Response> {
  const { request, route, routed, petId, network } = incoming;
  let admission: Authenticated | Unauthenticated | undefined;
  try {
    if (isPreflight(request, context.corsOrigins)) return await preflight(context, incoming);

    // What is here at once is not awaited (see `andThen`).
    const admitted = context.admission.admit(credentialOf(request.headers), network);
    admission = admitted instanceof Promise ? await admitted : admitted;
    if (admission.caller === undefined) throw new Refusal(admission.refusal);
    if (admission.verdict.refusal !== undefined) throw new Refusal(admission.verdict.refusal);

    if (route === undefined) throw new Refusal('route_not_found');
    if (routed === undefined) throw new Refusal('method_not_allowed');
    if (routed.removedAt !== undefined && context.clock.now() >= routed.removedAt)
      throw new Refusal('operation_removed');

    const { operation } = routed;
    const version = admission.versions.pets;
    const target = targetOf(request.url);
    let answer = context.pageCache.get(operation, target, version);
    if (answer === undefined) {
      const input = readInput(operation, request, petId);
      const made = andThen(input, context.answers[operation.operationId]);
      answer = made instanceof Promise ? await made : made;
      context.pageCache.keep(operation, target, version, answer);
    }
    return reply(context, incoming, admission, answer);
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
