SwaggerUIBundle({
  url: "/openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  tryItOutEnabled: true,
  // Stored in the browser only, so never part of an address or visible to another origin.
  persistAuthorization: true,
  // The validator would send the document to an external server.
  validatorUrl: "none",
});
