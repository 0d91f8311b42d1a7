/**
 * A strict schema of the Kubernetes fields that the manifest uses. Before adding a field, look it up in the Kubernetes
 * reference.
 */
import { z } from 'zod';

const labels = z.record(z.string().regex(/^[a-z0-9./-]+$/), z.string());
const metadata = z.strictObject({ name: z.string().regex(/^[a-z][a-z0-9-]*$/), labels });
const selector = z.strictObject({ matchLabels: labels });
const seconds = z.int().min(1).max(600);

const probe = z.strictObject({
  httpGet: z.strictObject({ path: z.enum(['/livez', '/readyz']), port: z.string() }),
  periodSeconds: seconds,
  timeoutSeconds: seconds.optional(),
  failureThreshold: z.int().min(1).optional(),
});

const resources = z.strictObject({
  requests: z.strictObject({ cpu: z.string().regex(/^\d+m$/), memory: z.string().regex(/^\d+Mi$/) }),
  limits: z.strictObject({ memory: z.string().regex(/^\d+Mi$/) }),
});

const container = z.strictObject({
  name: z.string(),
  image: z.string(),
  envFrom: z.array(z.strictObject({ secretRef: z.strictObject({ name: z.string() }) })),
  // Kubernetes rejects numbers as values of environment variables.
  env: z.array(z.strictObject({ name: z.string(), value: z.string() })),
  ports: z.array(z.strictObject({ name: z.string(), containerPort: z.int() })),
  startupProbe: probe,
  livenessProbe: probe,
  readinessProbe: probe,
  lifecycle: z.strictObject({ preStop: z.strictObject({ sleep: z.strictObject({ seconds }) }) }),
  resources,
  securityContext: z.strictObject({
    allowPrivilegeEscalation: z.literal(false),
    readOnlyRootFilesystem: z.literal(true),
    capabilities: z.strictObject({ drop: z.tuple([z.literal('ALL')]) }),
  }),
  volumeMounts: z.array(z.strictObject({ name: z.string(), mountPath: z.string() })),
});

const pod = z.strictObject({
  terminationGracePeriodSeconds: seconds,
  automountServiceAccountToken: z.literal(false),
  enableServiceLinks: z.literal(false),
  securityContext: z.strictObject({
    runAsNonRoot: z.literal(true),
    runAsUser: z.int().min(1),
    runAsGroup: z.int().min(1),
    seccompProfile: z.strictObject({ type: z.literal('RuntimeDefault') }),
  }),
  topologySpreadConstraints: z.array(
    z.strictObject({
      maxSkew: z.int().min(1),
      topologyKey: z.literal('kubernetes.io/hostname'),
      whenUnsatisfiable: z.enum(['ScheduleAnyway', 'DoNotSchedule']),
      labelSelector: selector,
    }),
  ),
  containers: z.tuple([container]),
  volumes: z.array(
    z.strictObject({
      name: z.string(),
      emptyDir: z.strictObject({ sizeLimit: z.string().regex(/^\d+Gi$/) }),
    }),
  ),
});

const deployment = z.strictObject({
  apiVersion: z.literal('apps/v1'),
  kind: z.literal('Deployment'),
  metadata,
  spec: z.strictObject({
    replicas: z.int().min(2),
    selector,
    strategy: z.strictObject({
      type: z.literal('RollingUpdate'),
      rollingUpdate: z.strictObject({ maxUnavailable: z.literal(0), maxSurge: z.int().min(1) }),
    }),
    template: z.strictObject({ metadata: z.strictObject({ labels }), spec: pod }),
  }),
});

const service = z.strictObject({
  apiVersion: z.literal('v1'),
  kind: z.literal('Service'),
  metadata,
  spec: z.strictObject({
    selector: labels,
    ports: z.array(z.strictObject({ name: z.string(), port: z.int(), targetPort: z.string() })),
  }),
});

const disruptionBudget = z.strictObject({
  apiVersion: z.literal('policy/v1'),
  kind: z.literal('PodDisruptionBudget'),
  metadata,
  spec: z.strictObject({ maxUnavailable: z.literal(1), selector }),
});

/** The manifest's objects, in order. */
export const Manifest = z.tuple([deployment, service, disruptionBudget]);
