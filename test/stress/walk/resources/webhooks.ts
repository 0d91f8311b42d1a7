import { typeGroups } from '../../../../src/domain/event-type.ts';
import { anyName, jsonString } from '../../generate/json-text.ts';
import { words } from '../../words.ts';
import { type Filter, listRequest, memberFilters } from '../lists.ts';
import { bodyOf, type Members, type Request } from '../request.ts';
import { currentOf, getRequest, type Resource } from '../resource.ts';
import { absentId, type RequestInputs, type Scene } from '../scene.ts';
import { changed, type Kind, type Outcome, refusal, type Turn, type World } from '../world.ts';

interface Webhook {
  readonly id: bigint;
  readonly url: string;
  readonly types: readonly string[];
  readonly description?: string | undefined;
  readonly enabled: boolean;
  readonly createdAt: string;
  /** Whether events preceded its creation or last enabling. A redelivery of later ones changes nothing. */
  readonly hasPastEvents: boolean;
  /** Whether events are being sent again. This never ends, because webhooks are switched off during the walk. */
  readonly isRedelivering?: boolean;
}

function webhookText({ id, url, types, description, enabled, createdAt }: Webhook): string {
  const about = description === undefined ? '' : `"description":${JSON.stringify(description)},`;
  return `{"id":${id},"url":"${url}","types":${JSON.stringify(types)},${about}"enabled":${enabled},"createdAt":"${createdAt}"}`;
}

const kind: Kind<Webhook> = { name: 'webhooks', textOf: webhookText };

const most = 16;
/** Event selectors in the order in which the service returns them. */
const selectors: readonly string[] = [
  ...words`pet.created pets.imported order.cancelled webhook.disabled`,
  ...typeGroups,
];
const defaultTypes: readonly string[] = typeGroups;

const withSecret = (webhook: Webhook, secret: string) =>
  `${webhookText(webhook).slice(0, -1)},"secret":"${secret}"}`;

type Given = Pick<Webhook, 'url' | 'types' | 'description'>;

/** Whether the store contains events. Those of other clients are not in the model, but precede every webhook. */
const hasEvents = ({ isAlone }: Scene, { events }: World) => !isAlone || events.length > 0;

function createWebhook({ world, chosen }: Turn, given: Given, scene: Scene): Outcome {
  const all = world.all(kind);
  if (all.size === most) return refusal(409, 'too_many_webhooks');
  const { id, at, secret } = chosen;
  const hasPastEvents = hasEvents(scene, world);
  const webhook = { id, ...given, enabled: true, createdAt: at, hasPastEvents };
  all.set(id, webhook);
  return { status: 201, text: withSecret(webhook, secret), location: `/v1/webhooks/${id}` };
}

/** Applies an operation to an existing webhook if the preconditions hold. */
function onWebhook(
  { world, meets }: Turn,
  id: bigint,
  work: (webhook: Webhook, all: Map<bigint, Webhook>) => Outcome,
): Outcome {
  const webhook = world.all(kind).get(id);
  if (webhook === undefined) return refusal(404, 'webhook_not_found');
  return meets(webhookText(webhook)) ? work(webhook, world.all(kind)) : changed;
}

function webhookIdIn({ chance, scene: { world } }: RequestInputs): bigint {
  const ids = [...world.all(kind).keys()];
  return ids.length > 0 && chance.often(0.9) ? chance.pick(ids) : absentId(chance);
}

/** Random fields of a webhook, each as a value and as JSON. */
function anyMembers({ chance }: RequestInputs) {
  const url = `https://127.0.0.1:${chance.int(1, 9)}/${chance.int(0, 99)}?a=%20&b`;
  const some = selectors.filter(() => chance.often(0.3));
  const types = some.length > 0 ? some : [chance.pick(selectors)];
  const description = chance.often(0.5) ? anyName(chance) : undefined;
  const json = (values: readonly string[]) => `[${values.map((value) => jsonString(value, chance)).join()}]`;
  const twice = chance.shuffled([...types, chance.pick(types)]);
  return {
    url: { value: url, member: ['url', jsonString(url, chance)] as const },
    types: { value: types, member: ['types', json(twice)] as const },
    description: {
      value: description,
      member: ['description', description === undefined ? 'null' : jsonString(description, chance)] as const,
    },
  };
}

function createRequest(inputs: RequestInputs): Request {
  const { chance } = inputs;
  const { url, types, description } = anyMembers(inputs);
  const hasTypes = chance.often(0.6);
  const members: Members = [
    url.member,
    ...(hasTypes ? [types.member] : []),
    ...(description.value === undefined ? [] : [description.member]),
  ];
  const given = {
    url: url.value,
    types: hasTypes ? types.value : defaultTypes,
    description: description.value,
  };
  return {
    operationId: 'createWebhook',
    method: 'POST',
    target: '/webhooks',
    ...bodyOf(chance, members),
    act: (turn) => createWebhook(turn, given, inputs.scene),
  };
}

function updateRequest(inputs: RequestInputs): Request {
  const { chance, scene } = inputs;
  const id = webhookIdIn(inputs);
  const enabled = chance.often(0.5);
  const all = {
    ...anyMembers(inputs),
    enabled: { value: enabled, member: ['enabled', `${enabled}`] as const },
  };
  const chosen = Object.entries(all).filter(() => chance.often(0.4));
  const changes = Object.fromEntries(chosen.map(([name, { value }]) => [name, value]));
  return {
    operationId: 'updateWebhook',
    method: 'PATCH',
    target: `/webhooks/${id}`,
    ...bodyOf(
      chance,
      chosen.map(([, { member }]) => member),
    ),
    ...currentOf(scene, kind, id),
    act: (turn) =>
      onWebhook(turn, id, (before, webhooks) => {
        const isContinued = !before.enabled && changes.enabled === true;
        const resumed = { isRedelivering: false, hasPastEvents: hasEvents(scene, turn.world) };
        const after = { ...before, ...changes, ...(isContinued && resumed) };
        webhooks.set(id, after);
        return { status: 200, text: webhookText(after) };
      }),
  };
}

function deleteRequest(inputs: RequestInputs): Request {
  const id = webhookIdIn(inputs);
  return {
    operationId: 'deleteWebhook',
    method: 'DELETE',
    target: `/webhooks/${id}`,
    ...currentOf(inputs.scene, kind, id),
    act: (turn) =>
      onWebhook(turn, id, () => {
        turn.world.remove(kind, id);
        return { status: 204, text: '' };
      }),
  };
}

function rotateRequest(inputs: RequestInputs): Request {
  const id = webhookIdIn(inputs);
  return {
    operationId: 'rotateWebhookSecret',
    method: 'POST',
    target: `/webhooks/${id}/rotate-secret`,
    ...currentOf(inputs.scene, kind, id),
    ...(inputs.chance.often(0.2) && bodyOf(inputs.chance, [])),
    act: (turn) =>
      onWebhook(turn, id, (webhook) => ({ status: 200, text: withSecret(webhook, turn.chosen.secret) })),
  };
}

/** Nothing listens at the walk's webhook URLs, so the test event is not delivered. */
function testRequest(inputs: RequestInputs): Request {
  const id = webhookIdIn(inputs);
  return {
    operationId: 'testWebhook',
    method: 'POST',
    target: `/webhooks/${id}/test`,
    ...(inputs.chance.often(0.2) && bodyOf(inputs.chance, [])),
    act: (turn) => onWebhook(turn, id, () => ({ status: 200 })),
  };
}

function redeliverEventsRequest(inputs: RequestInputs): Request {
  const { chance } = inputs;
  const id = webhookIdIn(inputs);
  const after = chance.often(0.8) ? 0n : 9_223_372_036_854_775_807n;
  return {
    operationId: 'redeliverEvents',
    method: 'POST',
    target: `/webhooks/${id}/redeliver`,
    ...bodyOf(chance, [['after', `${after}`]]),
    act: (turn) =>
      onWebhook(turn, id, (webhook, webhooks) => {
        if (!webhook.enabled) return refusal(409, 'webhook_disabled');
        if (after > 0n) return refusal(410, 'events_expired');
        if (webhook.isRedelivering) return refusal(409, 'redelivery_in_progress');
        webhooks.set(id, { ...webhook, isRedelivering: webhook.hasPastEvents });
        return { status: 202, text: webhookText(webhook) };
      }),
  };
}

function redeliverRequest(inputs: RequestInputs): Request {
  const id = webhookIdIn(inputs);
  return {
    operationId: 'redeliver',
    method: 'POST',
    target: `/webhooks/${id}/deliveries/${absentId(inputs.chance)}/redeliver`,
    act: (turn) => onWebhook(turn, id, () => refusal(404, 'delivery_not_found')),
  };
}

function listWebhooks(inputs: RequestInputs): Request {
  return listRequest(inputs, {
    operationId: 'listWebhooks',
    path: '/webhooks',
    filters: {},
    ownBy: [],
    isMine: () => true,
    things: (world) => world.all(kind).values(),
    textOf: webhookText,
  });
}

/** The list is always empty, because webhooks are switched off during the walk. */
function listDeliveries(inputs: RequestInputs): Request {
  const id = webhookIdIn(inputs);
  const filters: Readonly<Record<string, Filter<Webhook>>> = memberFilters(
    'listDeliveries',
    {},
    inputs.chance,
  );
  const list = { filters, ownBy: [], isMine: () => true, things: () => [], textOf: webhookText };
  const path = `/webhooks/${id}/deliveries`;
  const request = listRequest(inputs, { operationId: 'listDeliveries', path, ...list });
  return { ...request, act: (turn) => onWebhook(turn, id, () => request.act(turn)) };
}

export const webhooks: Resource = {
  kind,
  isOwn: true,
  places: {
    createWebhook: createRequest,
    listWebhooks,
    getWebhook: (inputs) =>
      getRequest('getWebhook', kind, ['/webhooks', webhookIdIn(inputs)], 'webhook_not_found'),
    updateWebhook: updateRequest,
    deleteWebhook: deleteRequest,
    rotateWebhookSecret: rotateRequest,
    testWebhook: testRequest,
    redeliverEvents: redeliverEventsRequest,
    redeliver: redeliverRequest,
    listDeliveries,
  },
};
