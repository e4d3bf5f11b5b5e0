/** The reference page: Swagger UI for the server's own OpenAPI document, and addresses as the reader reaches them. */

type Props = Readonly<Record<string, unknown>>;

/** From React; Swagger UI contains a copy of it. */
type CreateElement = (component: unknown, props: Props, ...children: unknown[]) => unknown;

/** Defined by another script. */
declare const SwaggerUIBundle: (options: object) => unknown;

const API = new URL("api/public/v1", document.baseURI).href;

for (const place of document.querySelectorAll(".base")) place.textContent = API;

// A class turns on Swagger UI's dark colours.
const darkness = matchMedia("(prefers-color-scheme: dark)");
const applyDarkness = () => document.documentElement.classList.toggle("dark-mode", darkness.matches);
darkness.addEventListener("change", applyDarkness);
applyDarkness();

/** Creates a component that replaces one of Swagger UI's. */
const wrap =
  (render: (make: CreateElement, Original: unknown, props: Props) => unknown) =>
  (Original: unknown, { React }: { readonly React: { readonly createElement: CreateElement } }) =>
  (props: Props): unknown =>
    render(React.createElement, Original, props);

/** Hides a part. */
const nothing = wrap(() => null);

/** Keeps browsers from remembering typed text: it may be a token. */
const FORGETFUL = { autoComplete: "off", spellCheck: false };

function labelled(make: CreateElement, name: unknown, component: unknown, props: Props): unknown {
  return make("label", {}, make("span", { className: "unseen" }, name), make(component, props));
}

/** The props of a parameter's field that are used here; others are passed on. */
interface FieldProps extends Props {
  readonly schema?: { readonly get: (name: string) => unknown };
  readonly errors?: { readonly size: number };
  readonly onChange: (value: string, name: unknown) => void;
}

/** The props of a form for a security scheme that are used here. */
interface AuthorizationProps extends Props {
  readonly name: string;
  readonly schema: { readonly get: (name: string) => unknown };
  readonly authorized?: { readonly getIn: (path: readonly string[]) => unknown };
  readonly onChange: (given: Props) => void;
}

const wrapComponents = {
  /** There is only one server, and the page has an introduction itself. */
  ServersContainer: nothing,
  InfoContainer: nothing,
  /** The form of the token. Swagger UI calls it "Value", and names its scheme in three ways. */
  HttpAuth: wrap((make, _, props) => {
    const { name, schema, authorized, onChange } = props as AuthorizationProps;
    const isKnown = authorized?.getIn([name, "value"]) !== undefined;
    return make(
      "div",
      {},
      make("label", { htmlFor: "token" }, "Token"),
      make("p", {}, schema.get("description")),
      isKnown
        ? make("p", {}, "This page has a token.")
        : make("input", {
            ...FORGETFUL,
            id: "token",
            type: "text",
            autoFocus: true,
            onChange: ({ target }: { readonly target: { readonly value: string } }) =>
              onChange({ name, schema, value: target.value }),
          }),
    );
  }),
  Input: wrap((make, Input, props) => make(Input, { ...props, ...FORGETFUL })),
  /**
   * A parameter's field that reports its text at once. Swagger UI's own does so 0.35 s after the last key, or when it loses
   * the focus: a click on Execute that moves no focus, as by speech control or a script, would send the example.
   */
  JsonSchema_string: wrap((make, Original, props) => {
    const { schema, errors, onChange, value, description, disabled, keyName } = props as FieldProps;
    if (schema?.get("enum") !== undefined) return labelled(make, description, Original, props);
    return make("input", {
      ...FORGETFUL,
      type: "text",
      className: errors?.size ? "invalid" : "",
      value: String(value ?? ""),
      placeholder: description,
      disabled,
      onChange: (event: { readonly target: { readonly value: string } }) =>
        onChange(event.target.value, keyName),
    });
  }),
  /** Folds a part that few read. */
  headers: wrap((make, Headers, props) =>
    make("details", {}, make("summary", {}, "Headers"), make(Headers, props)),
  ),
  /** Folds each documented status to one line, except that of success. */
  response: wrap((make, Response, props) => {
    const row = make(Response, props);
    const { code, response } = props as { code: string; response: { get: (name: string) => unknown } };
    if (code === "200") return row;
    const says = String(response.get("description") ?? "").replaceAll("`", "");
    const summary = make("summary", {}, make("b", {}, code), " ", says);
    const table = make("table", {}, make("tbody", {}, row));
    const details = make("details", { className: "folded" }, summary, table);
    return make("tr", {}, make("td", { colSpan: 3 }, details));
  }),
  ExamplesSelect: wrap((make, Choices, props) => labelled(make, "Example", Choices, props)),
  /** Removes a link within a button, which cannot be reached; the address names the open part anyway. */
  DeepLink: wrap((make, _, { text }) => make("span", {}, text)),
  /** Makes the text of a button its accessible name. */
  Button: wrap((make, Button, { "aria-label": _, ...props }) => make(Button, props)),
  CloseIcon: wrap((make, Icon, props) =>
    make("span", {}, make("span", { className: "unseen" }, "Close"), make(Icon, props)),
  ),
};

/** Lets the keyboard reach and scroll long replies. */
const reference = document.getElementById("reference")!;
new MutationObserver(() => {
  for (const shown of reference.querySelectorAll<HTMLElement>("pre.microlight")) shown.tabIndex = 0;
}).observe(reference, { childList: true, subtree: true });

// Swagger UI puts the open part into the address but ignores Back and Forward: add no history entries.
history.pushState = history.replaceState;

/** The page asks its own server, whatever public address the document names: its policy allows no other. */
function askHere<Request extends { url: string; loadSpec?: boolean }>(request: Request): Request {
  const path = request.url.indexOf("/api/public/v1");
  if (!request.loadSpec && path >= 0)
    request.url = new URL(request.url.slice(path + 1), document.baseURI).href;
  return request;
}

SwaggerUIBundle({
  url: "openapi.json",
  requestInterceptor: askHere,
  // Its curl line names the public address.
  showMutatedRequest: false,
  domNode: reference,
  deepLinking: true,
  plugins: [() => ({ wrapComponents })],
  supportedSubmitMethods: ["get"],
  tryItOutEnabled: true,
  displayRequestDuration: true,
  defaultModelsExpandDepth: 0,
  // The validator is on another host.
  validatorUrl: null,
  // Do not keep a token beyond the page.
  persistAuthorization: false,
});
