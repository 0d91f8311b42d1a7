import { type Awaitable, andThen, orElse } from '../domain/awaitable.ts';
import { Refusal } from '../domain/refusal.ts';
import type { Authenticated, Unauthenticated } from '../operations/admission.ts';
import { isPreflight } from './cors.ts';
import { credentialOf } from './credential.ts';
import { readInput } from './input.ts';
import { targetOf } from './query.ts';
import { failed, preflight, refuse, reply } from './replies.ts';
import type { IncomingRequest, RequestContext } from './request-context.ts';

/** Every request under the version goes this way, in the contract's order of checks (section 2). */
export function pipeline(context: RequestContext, incoming: IncomingRequest): Awaitable<Response> {
  const { request, network } = incoming;
  let admission: Authenticated | Unauthenticated | undefined;
  const answer = () => {
    if (isPreflight(request, context.corsOrigins)) return preflight(context, incoming);
    return andThen(context.admission.admit(credentialOf(request.headers), network), (admitted) => {
      admission = admitted;
      return answerTo(context, incoming, admitted);
    });
  };
  return orElse(answer, (error) =>
    orElse(
      () => refuse(context, incoming, admission, error),
      (again) => {
        // The limits cannot be read either. A 503 stays one, with what it says of whether the request was applied.
        const isUnavailable = error instanceof Refusal && error.code === 'service_unavailable';
        return failed(context, incoming.requestId, isUnavailable ? error : again);
      },
    ),
  );
}

/** What follows admission. What may be refused a thousand times a second is not thrown: that costs some 5 % more. */
function answerTo(
  context: RequestContext,
  incoming: IncomingRequest,
  admission: Authenticated | Unauthenticated,
): Awaitable<Response> {
  const { request, route, routed, petId } = incoming;
  if (admission.caller === undefined)
    return refuse(context, incoming, admission, new Refusal(admission.refusal));
  const { refusal } = admission.verdict;
  if (refusal !== undefined) return refuse(context, incoming, admission, new Refusal(refusal));

  if (route === undefined) throw new Refusal('route_not_found');
  if (routed === undefined) throw new Refusal('method_not_allowed');
  if (routed.removedAt !== undefined && context.clock.now() >= routed.removedAt)
    throw new Refusal('operation_removed');

  const { operation } = routed;
  const version = admission.versions.pets;
  const target = targetOf(request.url);
  const held = context.pageCache.get(operation, target, version);
  if (held !== undefined) return reply(context, incoming, admission, held);
  const made = andThen(readInput(operation, request, petId), context.answers[operation.operationId]);
  return andThen(made, (answer) => {
    context.pageCache.keep(operation, target, version, answer);
    return reply(context, incoming, admission, answer);
  });
}
